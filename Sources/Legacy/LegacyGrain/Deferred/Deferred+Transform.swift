// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport

@available(*, deprecated)
extension Deferred {
  /// The same with its result transformed.
  @available(*, deprecated, message: "Transform what `try await` gives")
  public func map<Output>(_ transform: @escaping (Result) throws -> Output) -> Deferred<Output> {
    settled { useResult in try transform(useResult()) }
  }

  /// The same followed by something that is made of its result.
  @available(*, deprecated, message: "Await the one, then the other, with its result")
  public func flatMap<Output>(
    _ transform: @escaping (Result) throws -> Deferred<Output>
  ) -> Deferred<Output> {
    let transform = Sent(transform)
    return followed { useResult in try transform.value(useResult()) }
  }

  /// The same followed by something that is made of its result or its error.
  @available(*, deprecated, message: "Await the one in a do statement, then the other")
  @_disfavoredOverload
  public func flatMap<Output>(
    _ transform: @escaping (@escaping UseResult) throws -> Deferred<Output>
  ) -> Deferred<Output> {
    followed(transform)
  }

  /// The same without its result.
  @available(*, deprecated, message: "Write `_ = try await …`")
  public func ignoringResult() -> Deferred<Void> { map { _ in } }

  private func settled<Output>(_ transform: @escaping (UseResult) throws -> Output) -> Deferred<Output> {
    let (this, transform) = (Sent(self), Sent(transform))
    return .future { resolve in
      this.value.perform { useResult in
        let result = Sent(Swift.Result { try transform.value(useResult) })
        resolve { try result.value.get() }
      }
    }
  }

  private func followed<Output>(
    _ transform: @escaping (@escaping UseResult) throws -> Deferred<Output>
  ) -> Deferred<Output> {
    let (this, transform) = (Sent(self), Sent(transform))
    return .future { resolve in
      this.value.perform { useResult in
        do {
          try transform.value(useResult).perform { resolve($0) }
        } catch {
          resolve { throw error }
        }
      }
    }
  }
}
