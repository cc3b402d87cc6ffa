// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Finds out when a progression stands still.
///
/// Comparing stages can be dear, so with a large limit only one in so many is compared with the one before, and all of them
/// once two were the same.
@usableFromInline
package struct StuckWatch<P: Progression>: Sendable {
  /// How often a stage may return itself.
  private let limit: Int
  private let stride: Int
  /// Whether stages are compared that do not say themselves when they are the same.
  private let comparesDescriptions: Bool
  private var repetitions = 0
  @usableFromInline var stagesUntilLook: Int

  /// The limit that holds for stages that are Equatable, unless another is given.
  @usableFromInline
  package init() {
    self.init(limit: 10_000, comparesDescriptions: false)
  }

  /// - Parameter limit: How often a stage may return itself; nil for any number of times.
  @usableFromInline
  package init(limit: Int?) {
    self.init(limit: limit ?? .max, comparesDescriptions: true)
  }

  private init(limit: Int, comparesDescriptions: Bool) {
    self.limit = max(1, limit)
    self.comparesDescriptions = comparesDescriptions
    stride = limit <= 1_000 ? 1 : 64
    stagesUntilLook = limit == .max ? .max : stride
  }

  /// Is told each stage, with the one before.
  @inlinable
  package mutating func pass(from previous: P, to stage: P) throws {
    stagesUntilLook -= 1
    if stagesUntilLook == 0 { try look(previous, stage) }
  }

  /// Whether the next stage need not be told.
  @inlinable
  mutating func shouldSkip() -> Bool {
    guard stagesUntilLook > 1 else { return false }
    stagesUntilLook -= 1
    return true
  }

  @usableFromInline
  mutating func look(_ previous: P, _ stage: P) throws {
    guard let isUnchanged = isUnchanged(previous, stage) else {
      stagesUntilLook = .max
      return
    }
    guard isUnchanged else {
      repetitions = 0
      stagesUntilLook = stride
      return
    }
    repetitions += 1
    stagesUntilLook = 1
    if repetitions >= limit {
      throw ProgressionError.stuck(stage: String(describing: stage), repetitions: repetitions)
    }
  }

  private func isUnchanged(_ previous: P, _ stage: P) -> Bool? {
    if let isUnchanged = areEqual(previous, stage) { return isUnchanged }
    return comparesDescriptions ? String(describing: previous) == String(describing: stage) : nil
  }
}

/// A stage that is not Equatable itself but is made of stages that may be.
protocol WrappingStage {
  /// Whether this stage is the same as an earlier one; nil when that cannot be told.
  func isUnchanged(since previous: Self) -> Bool?
}

/// Whether two stages are the same; nil when that cannot be told.
func areEqual<Stage>(_ previous: Stage, _ stage: Stage) -> Bool? {
  if let equatable = stage as? any Equatable { return isEqual(equatable, to: previous) }
  if let wrapping = stage as? any WrappingStage { return isUnchanged(wrapping, since: previous) }
  return nil
}

private func isEqual<Value: Equatable>(_ value: Value, to other: Any) -> Bool {
  other as? Value == value
}

private func isUnchanged<Value: WrappingStage>(_ value: Value, since other: Any) -> Bool? {
  (other as? Value).flatMap { value.isUnchanged(since: $0) }
}
