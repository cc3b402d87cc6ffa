// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
internal import Stepwise

/// Something that has yet to be done, and what will come of it.
///
/// It is done each time that it is performed. Only the first call of a future's `resolve` counts.
@available(*, deprecated, message: "Write an async function; a future is withResolver { resolver in … }")
public struct Deferred<Result> {
  /// Gives what came of it, or throws.
  @available(*, deprecated, message: "Write `() throws -> Result`")
  public typealias UseResult = () throws -> Result

  private enum Kind {
    case unit(UseResult)
    case future((@escaping @Sendable (@escaping UseResult) -> Void) -> Void)
  }

  private let kind: Kind

  private init(_ kind: Kind) {
    self.kind = kind
  }

  // MARK: - Making

  /// Something that is done by a function.
  @available(*, deprecated, message: "Call the function in an async one")
  public static func unit(_ subroutine: @escaping UseResult) -> Deferred { Deferred(.unit(subroutine)) }

  /// Something that calls back.
  ///
  /// - Parameter request: Begins it; it is given what takes a closure that returns the result or throws.
  /// - Returns: What has yet to be done.
  @available(*, deprecated, message: "Use withResolver { resolver in … }, and resolver.resolve { … }")
  public static func future(
    _ request: @escaping (_ resolve: @escaping @Sendable (@escaping UseResult) -> Void) -> Void
  ) -> Deferred {
    Deferred(.future(request))
  }

  /// Something that is done by a function.
  @available(*, deprecated, message: "Call the function in an async one")
  public init(running subroutine: @escaping UseResult) { self.init(.unit(subroutine)) }

  /// Something that fails.
  @available(*, deprecated, message: "Throw the error in an async function")
  public init(throwing error: any Error) { self.init(.unit { throw error }) }

  // MARK: - Performing

  /// Does it, and calls a handler with a closure that returns the result or throws.
  ///
  /// A function is called here and now, on this thread.
  @available(*, deprecated, message: "Use `try await`, in a Task { … } where there is none yet")
  @preconcurrency
  public func perform(_ handleResult: sending @escaping (@escaping UseResult) -> Void) {
    switch kind {
    case .unit(let subroutine):
      let result = Swift.Result(catching: subroutine)
      handleResult { try result.get() }
    case .future(let request):
      let handler = Once(handleResult)
      request { useResult in handler.take()?(useResult) }
    }
  }

  /// Does it, with the result handed on where a performer says: the function of a unit is called there.
  func performed(by performer: Performer) -> Deferred {
    let kind = Sent(kind)
    return .future { resolve in
      switch kind.value {
      case .unit(let subroutine):
        let subroutine = Sent(subroutine)
        performer {
          let result = Swift.Result(catching: subroutine.value)
          resolve { try result.get() }
        }
      case .future(let request):
        request { useResult in
          let useResult = Sent(useResult)
          performer { resolve(useResult.value) }
        }
      }
    }
  }

  /// Does it, and waits.
  ///
  /// - Throws: What came of it; that it was abandoned, when nobody is left to resolve it.
  func value() async throws -> Sent<Result> {
    try await withResolver { (resolver: Resolver<Sent<Result>>) in
      perform { useResult in resolver.resolve { Sent(try useResult()) } }
    }
  }
}

@available(*, unavailable)
extension Deferred: Sendable {}

/// A handler that is called once.
private final class Once<Handler>: Sendable {
  private let handler: Lock<Sent<Handler>?>

  init(_ handler: Handler) {
    self.handler = Lock(Sent(handler))
  }

  func take() -> Handler? { handler.withLock { $0.take() }?.value }
}
