// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A failure that ends a run whose host keeps its completed steps: nothing is undone, and a further run continues it.
package struct HeldFailure: Error, CustomStringConvertible {
  package let error: any Error

  package var description: String { "\(error)" }
}

extension DurableEvent {
  /// Returns the events of a run that has failed, without its outcome and what led to it: a further run performs the step
  /// that failed again.
  ///
  /// - Parameters:
  ///   - events: What the run has stored.
  ///   - isHeld: Whether the run was stopped before anything was undone because it failed.
  /// - Returns: The events to store instead.
  /// - Throws: `DataError` when the run has not failed, or when a step of it may have been undone.
  package static func continuing(
    _ events: [DurableEvent],
    isHeld: Bool = false
  ) throws(DataError) -> [DurableEvent] {
    let log = DurableLog(events)
    let numbers = Set(log.records.values.map(\.number))
    var (isUndoing, isCancelled, outcome) = (log.records.values.contains(where: \.isUndone), false, StoredOutcome?.none)
    for event in events {
      switch event {
      case .undoing(let undoing): isUndoing = isUndoing || undoing.contains(where: numbers.contains)
      case .cancelled, .abandoned: isCancelled = true
      case .concluded(let stored): outcome = outcome ?? stored
      default: break
      }
    }
    if isCancelled { throw DataError(reason: "it was cancelled") }
    if isUndoing, !isHeld { throw DataError(reason: "its completed steps are undone, or being undone") }
    switch outcome {
    case .failed, nil: break
    case .resolved: throw DataError(reason: "it is done")
    case .cancelled: throw DataError(reason: "it was cancelled")
    }
    let (dropped, innermost) = failures(endingIn: events)
    return events.enumerated().filter { index, event in
      switch event {
      case .concluded, .undoing: false
      case .failed(let key, _, _, _, let isInterrupted):
        !dropped.contains(index) && !(isInterrupted && innermost.map { isRelated(key, $0) } ?? false)
      // A limit that was over would end the step again.
      case .deadline(let key, _), .decided(let key, _), .attemptFailed(let key, _):
        !(innermost.map { isRelated(key, $0) } ?? false)
      default: true
      }
    }.map(\.element)
  }

  /// The failures of the step that failed last and of the steps around it, and its key.
  ///
  /// A failure after which a further step has completed was handled, and the run continues behind it.
  private static func failures(endingIn events: [DurableEvent]) -> (indices: Set<Int>, innermost: String?) {
    var (indices, innermost) = (Set<Int>(), String?.none)
    for (index, event) in events.enumerated().reversed() {
      switch event {
      case .failed(let key, _, _, _, isInterrupted: false) where innermost.map { isInside(key, $0) } ?? true:
        indices.insert(index)
        innermost = key
      case .completed(let key, _, _, _, _) where innermost.map { isInside(key, $0) } ?? false:
        return (indices, innermost)
      default: break
      }
    }
    return (indices, innermost)
  }

  /// Whether a key is another one, around it or inside it.
  private static func isRelated(_ key: String, _ other: String) -> Bool {
    key.utf8.elementsEqual(other.utf8) || isInside(key, other) || isInside(other, key)
  }

  private static func isInside(_ key: String, _ outer: String) -> Bool { DurableLog.contains(outer, key) }

  /// Returns the events of a run that has completed as those of one that is cancelled, so that a further run of it undoes
  /// its steps.
  ///
  /// - Parameters:
  ///   - events: What the run has stored.
  ///   - reason: Why it is cancelled.
  /// - Returns: The events to store instead; nil when nothing of the run can be undone.
  package static func undoing(_ events: [DurableEvent], reason: String?) -> [DurableEvent]? {
    let kept = events.filter { if case .concluded(.resolved) = $0 { false } else { true } }
    let log = DurableLog(kept)
    guard log.phase == .running, !log.outstanding.isEmpty || !log.begun.isEmpty else { return nil }
    return kept + [.cancelled(reason: reason)]
  }
}
