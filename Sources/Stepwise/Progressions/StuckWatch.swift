// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Detects a progression that makes no progress.
///
/// Comparing stages can be expensive. With a limit above 1,000 it compares only one stage in 64 with the previous one,
/// and every stage once two of them were equal.
@usableFromInline
package struct StuckWatch<P: Progression>: Sendable {
  /// The number of times that a stage may return itself.
  private let limit: Int
  private let stride: Int
  /// Whether to compare the descriptions of stages that are not Equatable.
  private let comparesDescriptions: Bool
  private var repetitions = 0
  @usableFromInline var stagesUntilLook: Int

  /// The default limit for Equatable stages.
  @usableFromInline
  package init() {
    self.init(limit: 10_000, comparesDescriptions: false)
  }

  /// - Parameter limit: The number of times that a stage may return itself; nil for no limit.
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

  /// Records a stage and the one before it.
  @inlinable
  package mutating func pass(from previous: P, to stage: P) throws {
    stagesUntilLook -= 1
    if stagesUntilLook == 0 { try look(previous, stage) }
  }

  /// Returns whether the next stage need not be recorded.
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
  /// Returns whether this stage equals the previous one; nil when that is unknown.
  func isUnchanged(since previous: Self) -> Bool?
}

/// Returns whether two stages are equal; nil when that is unknown.
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
