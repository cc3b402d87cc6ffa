// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Dispatch
public import Stepwise

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
