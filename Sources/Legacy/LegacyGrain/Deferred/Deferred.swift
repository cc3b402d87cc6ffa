// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
internal import Stepwise

/// Work that is done later, and its result.
///
/// The work is done each time the deferred is performed. That of a unit is done where, and each time that, the closure
/// passed to the handler is called; it is not done when the closure is not called.
@available(*, deprecated, message: "Write an async function; a future is withResolver { resolver in … }")
public enum Deferred<Result> {
  /// Returns the result or throws.
  @available(*, deprecated, message: "Write `() throws -> Result`")
  public typealias UseResult = () throws -> Result

  /// Takes a closure that returns the result or throws, of which the first counts.
  @available(*, deprecated, message: "Use Resolver, and its resolve { … }")
  public typealias Resolve = @Sendable (@escaping () throws -> Result) -> Void

  /// Work that is done by a function.
  @available(*, deprecated, message: "Call the function in an async one")
  case unit(() throws -> Result)

  /// Work that calls back: a closure that starts it, and is passed what to call.
  @available(*, deprecated, message: "Use withResolver { resolver in … }, and resolver.resolve { … }")
  case future((@escaping @Sendable (@escaping () throws -> Result) -> Void) -> Void)

  /// An error made of others.
  @available(*, deprecated, message: "Throw an error of your own")
  public enum Error: Swift.Error {
    /// The errors.
    @available(*, deprecated, message: "Throw an error of your own")
    case underlyingErrors([any Swift.Error])
  }

  /// Creates work that is done by a function.
  @available(*, deprecated, message: "Call the function in an async one")
  public init(running subroutine: @escaping () throws -> Result) { self = .unit(subroutine) }

  /// Creates work that fails.
  @available(*, deprecated, message: "Throw the error in an async function")
  public init(throwing error: any Swift.Error) { self = .unit { throw error } }

  // MARK: - Performing

  /// Passes the result to a handler, as a closure that returns the result or throws.
  ///
  /// The handler of a unit is called before this returns, and the function when the handler calls the closure. The
  /// handler of a future is called when the future is resolved, on that thread; with `ResolverError.abandoned` when it
  /// no longer can be.
  @available(*, deprecated, message: "Use `try await`, in a Task { … } where there is none yet")
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

  /// Does the work and waits for its result.
  func value() async throws -> Sent<Result> {
    try await withResolver { (resolver: Resolver<Sent<Result>>) in
      pass { useResult in resolver.resolve { Sent(try useResult()) } }
    }
  }
}

@available(*, unavailable)
extension Deferred: Sendable {}
