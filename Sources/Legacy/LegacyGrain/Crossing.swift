// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch
public import Stepwise

/// A new progression as an old one, made by `legacy`.
@available(*, deprecated, message: "Use the progression itself when its last old caller has moved")
public struct LegacyProgression<Base: Stepwise.Progression>: Progression, Sendable {
  /// The type of the result that the last stage holds.
  public typealias Result = Base.Result

  /// The new stage.
  public let base: Base

  /// The result, which marks a stage as the last one; nil for every other stage.
  public var result: Base.Result? { base.result }

  /// Returns the next stage.
  @available(*, deprecated, message: "Use next() of the progression itself")
  public func next() -> Deferred<LegacyProgression> {
    let base = base
    return .future { resolve in
      Chain { LegacyProgression(base: try await base.next()) }.start { result in
        resolve { try result.get() }
      }
    }
  }
}

@available(*, deprecated)
extension LegacyProgression: Equatable where Base: Equatable {}

extension Stepwise.Progression {
  /// The progression as an old one, for callers that have not moved.
  @available(*, deprecated, message: "Use the progression itself when its last old caller has moved")
  public var legacy: LegacyProgression<Self> { LegacyProgression(base: self) }
}

/// An old progression as a new one, made by ``Progression/modern``.
@available(*, deprecated, message: "Make it a Progression of Stepwise when its last old caller has moved")
public struct ModernProgression<Base: Progression & Sendable>: Stepwise.Progression where Base.Result: Sendable {
  /// The type of the result that the last stage holds.
  public typealias Result = Base.Result

  /// The old stage.
  public let base: Base

  /// The result, which marks a stage as the last one; nil for every other stage.
  public var result: Base.Result? { base.result }

  /// Does the work of this stage, in a global queue.
  ///
  /// - Returns: The next stage.
  /// - Throws: The error of the stage.
  @concurrent public func next() async throws -> ModernProgression {
    try await withResolver { resolver in
      Performer(.utility) {
        base.next().pass { useNext in resolver.resolve { ModernProgression(base: try useNext()) } }
      }
    }
  }
}

@available(*, deprecated)
extension ModernProgression: Equatable where Base: Equatable {}

@available(*, deprecated)
extension Progression where Self: Sendable, Result: Sendable {
  /// The progression as a new one, for callers that have moved.
  @available(*, deprecated, message: "Make it a Progression of Stepwise when its last old caller has moved")
  public var modern: ModernProgression<Self> { ModernProgression(base: self) }
}
