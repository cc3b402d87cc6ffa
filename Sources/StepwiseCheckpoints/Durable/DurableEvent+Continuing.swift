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
    return withoutLastFailure(events)
  }

  /// Drops the last failure, and what followed from it.
  ///
  /// A failure after which a further step has ended was handled, and the run continues behind it.
  private static func withoutLastFailure(_ events: [DurableEvent]) -> [DurableEvent] {
    let last = events.lastIndex(where: \.isFailure) ?? events.lastIndex(where: \.isInterruption)
    let failed = last.flatMap { if case .failed(let key, _, _, _) = events[$0] { key } else { nil } }
    let handled = events[..<(last ?? events.endIndex)].lastIndex { $0.isFailure || $0.isCompletion } ?? -1
    var kept = events.enumerated().filter { index, event in
      switch event {
      case .concluded, .undoing: false
      case .failed: index != last && !(index > handled && event.isInterruption)
      default: true
      }
    }
    // What ended because of the failure: no end that is kept follows from it.
    let end = kept.last { $0.element.isFailure || $0.element.isCompletion }?.offset ?? -1
    kept.removeAll { index, event in
      switch event {
      case .waited, .returned: index > end
      default: false
      }
    }
    let waited = Set(kept.compactMap { if case .waited(let key, _) = $0.element { key } else { nil } })
    return kept.map(\.element).filter { event in
      switch (event, failed) {
      // A limit that was over would end the step again.
      case (.deadline(let key, _), let failed?) where !waited.contains(key):
        let scope = DurableLog.scope(of: key)
        return key != failed && !DurableLog.contains(key, failed) && !failed.utf8.starts(with: (scope + "/").utf8)
      // So would attempts that had taken too long.
      case (.elapsed(let scope, _), let failed?): return !failed.utf8.starts(with: (scope + "/").utf8)
      default: return true
      }
    }
  }

  private var isCompletion: Bool { if case .completed = self { true } else { false } }
  private var isInterruption: Bool {
    if case .failed(_, _, _, let failure) = self { failure.kind == .cancellation } else { false }
  }
  private var isFailure: Bool { if case .failed = self { !isInterruption } else { false } }

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
