// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport

@available(*, deprecated)
extension Deferred {
  /// Returns the same work with its result transformed, where and when the closure passed to the handler is called.
  @available(*, deprecated, message: "Transform the result of `try await`")
  public func map<Output>(_ transform: @escaping (Result) throws -> Output) -> Deferred<Output> {
    switch self {
    case .unit(let useResult): return .unit { try transform(useResult()) }
    case .future(let request):
      let transform = Sent(transform)
      return .future { resolve in
        request { useResult in resolve { try transform.value(useResult()) } }
      }
    }
  }

  /// Returns the same work followed by other work, which a function makes of the result or the error.
  ///
  /// For a subroutine the function is called now; for a future when it is resolved.
  @available(*, deprecated, message: "Await the one in a do statement, then the other")
  public func flatMap<Output>(
    _ transform: @escaping (@escaping () throws -> Result) throws -> Deferred<Output>
  ) -> Deferred<Output> {
    switch self {
    case .unit(let useResult):
      do { return try transform(useResult) } catch { return Deferred<Output>(error) }
    case .future(let request):
      let transform = Sent(transform)
      return .future { resolve in
        request { useResult in
          do {
            try transform.value(useResult).pass { useOutput in resolve(useOutput) }
          } catch {
            resolve { throw error }
          }
        }
      }
    }
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
