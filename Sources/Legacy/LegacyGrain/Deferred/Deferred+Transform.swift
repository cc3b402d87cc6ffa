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
  /// For a unit the function is called now; for a future when it is resolved.
  @available(*, deprecated, message: "Await the one in a do statement, then the other")
  public func flatMap<Output>(
    _ transform: @escaping (@escaping () throws -> Result) throws -> Deferred<Output>
  ) -> Deferred<Output> {
    switch self {
    case .unit(let useResult):
      do { return try transform(useResult) } catch { return Deferred<Output>(throwing: error) }
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

  /// Returns the same work without its result.
  @available(*, deprecated, message: "Write `_ = try await …`")
  public func ignoringResult() -> Deferred<Void> { map { _ in } }

  /// Returns the same work with its handler called by a performer.
  func handled(by performer: Performer) -> Deferred {
    let this = Sent(self)
    return .future { resolve in
      this.value.pass { useResult in
        let useResult = Sent(useResult)
        performer { resolve(useResult.value) }
      }
    }
  }
}
