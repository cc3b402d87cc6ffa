// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacyGrain
internal import LegacySupport

/// Work that is done later, and its result: a subroutine, or a future that calls back.
///
/// Up to 0.5 it was called `Task`. A subroutine is called where, and each time that, the closure passed to the handler
/// is.
@available(*, deprecated, message: "Write next() async throws of Progression of Stepwise")
public enum Deferred<Result> {
  /// Returns the result or throws.
  @available(*, deprecated, message: "Write `() throws -> Result`")
  public typealias UseResult = () throws -> Result

  /// Work that is done by a subroutine.
  @available(*, deprecated, message: "Return the next stage from next() async throws")
  case unit(() throws -> Result)

  /// Work that calls back: a closure that starts it, and is passed what to call.
  @available(*, deprecated, message: "Use withResolver { resolver in … }, and resolver.resolve { … }")
  case future((@escaping @Sendable (@escaping () throws -> Result) -> Void) -> Void)

  /// Creates work that is done by a subroutine.
  @available(*, deprecated, message: "Return the next stage from next() async throws")
  public init(_ subroutine: @escaping () throws -> Result) { self = .unit(subroutine) }

  /// Creates work that fails.
  @available(*, deprecated, message: "Throw the error from next() async throws")
  public init(_ error: any Error) { self = .unit { throw error } }

  /// Passes the result to a handler, as a closure that returns the result or throws.
  ///
  /// The handler of a subroutine is called before this returns, and the subroutine when the handler calls the closure.
  /// The handler of a future is called when the future is resolved, on that thread; with `ResolverError.abandoned` when
  /// it no longer can be.
  @available(*, deprecated, message: "Use `try await`")
  @preconcurrency
  public func perform(_ handleResult: sending @escaping (@escaping () throws -> Result) -> Void) {
    pass(to: handleResult)
  }

  func pass(to handleResult: @escaping (@escaping () throws -> Result) -> Void) {
    switch self {
    case .unit(let useResult): handleResult(useResult)
    case .future(let request):
      let resolution = Resolution(handleResult)
      request { useResult in resolution.resolve(useResult) }
    }
  }
}

@available(*, unavailable)
extension Deferred: Sendable {}
