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

  func pass(to handleResult: @escaping (@escaping () throws -> Result) -> Void) { second.pass(to: handleResult) }

  /// The same work as one of the second edition, which does it.
  var second: LegacyGrain.Deferred<Result> {
    switch self {
    case .unit(let useResult): .unit(useResult)
    case .future(let request): .future(request)
    }
  }

  init(_ second: LegacyGrain.Deferred<Result>) {
    switch second {
    case .unit(let useResult): self = .unit(useResult)
    case .future(let request): self = .future(request)
    }
  }
}

@available(*, unavailable)
extension Deferred: Sendable {}

@available(*, deprecated)
extension Deferred {
  /// Returns the same work with its result transformed, where and when the closure passed to the handler is called.
  @available(*, deprecated, message: "Transform the result of `try await`")
  public func map<Output>(_ transform: @escaping (Result) throws -> Output) -> Deferred<Output> {
    Deferred<Output>(second.map(transform))
  }

  /// Returns the same work followed by other work, which a function makes of the result or the error.
  ///
  /// For a subroutine the function is called now; for a future when it is resolved.
  @available(*, deprecated, message: "Await the one in a do statement, then the other")
  public func flatMap<Output>(
    _ transform: @escaping (@escaping () throws -> Result) throws -> Deferred<Output>
  ) -> Deferred<Output> {
    Deferred<Output>(second.flatMap { useResult in try transform(useResult).second })
  }

  /// Returns the same work with other work done before its handler is called.
  @available(*, deprecated, message: "Await the one, then the other")
  public func withBefore<Middle>(_ before: Deferred<Middle>) -> Deferred {
    flatMap { useResult in
      let useResult = Sent(useResult)
      return .future { resolve in before.pass { _ in resolve(useResult.value) } }
    }
  }

  /// Returns the same work with other work done after its handler has been called.
  @available(*, deprecated, message: "Await the one, then the other")
  public func withCleanUp<Middle>(_ cleanUp: Deferred<Middle>) -> Deferred {
    flatMap { useResult in
      let useResult = Sent(useResult)
      return .future { resolve in
        resolve(useResult.value)
        cleanUp.pass { _ in }
      }
    }
  }
}

@available(*, deprecated)
extension Deferred where Result: CompletingProtocol {
  /// Returns the same work with the completion of its result, or the error that there is none.
  @available(*, deprecated, message: "Use the result of `try await run()`")
  public func ensureCompleted() -> Deferred<Result.Completion> { map { try $0.requireCompletion() } }
}

/// The name of `Deferred` up to 0.5.
@available(*, deprecated, message: "Write next() async throws of Progression of Stepwise")
public typealias Task<Result> = Deferred<Result>
