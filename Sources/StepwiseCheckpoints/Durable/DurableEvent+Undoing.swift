// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension DurableEvent {
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
