// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Stores what happens in a run, and notifies its subscribers.
final class RunRecorder: Sendable {
  typealias Key = RunRecord.Key

  private let broadcast: Broadcast<RunRecord, Key>
  private let names: [Int: String]
  /// Returns whether to record, when the run may abandon the work; checked inside the broadcast's lock.
  private let condition: Condition?

  /// A linked list; nested closures would exhaust the stack when thousands of parts are nested.
  private final class Condition: Sendable {
    let outer: Condition?
    let holds: @Sendable () -> Bool

    init(outer: Condition?, holds: @escaping @Sendable () -> Bool) {
      self.outer = outer
      self.holds = holds
    }
  }

  init(stepCount: Int, names: [Int: String]) {
    broadcast = Broadcast(RunRecord(stepCount: stepCount))
    self.names = names
    condition = nil
  }

  private init(_ recorder: RunRecorder, while isOpen: @escaping @Sendable () -> Bool) {
    broadcast = recorder.broadcast
    names = recorder.names
    condition = Condition(outer: recorder.condition, holds: isOpen)
  }

  /// Returns a recorder for work that the run may abandon; it ignores what that work does afterwards.
  func recording(while isOpen: @escaping @Sendable () -> Bool) -> RunRecorder { RunRecorder(self, while: isOpen) }

  private var isOpen: Bool {
    var condition = condition
    while let current = condition {
      if !current.holds() { return false }
      condition = current.outer
    }
    return true
  }

  /// Changes the record while it is open.
  private func record(
    _ change: (inout Broadcast<RunRecord, Key>.Content) -> RunRecord.Dropped?
  ) {
    // Values are released outside the lock.
    _ = broadcast.update { content -> RunRecord.Dropped? in
      guard isOpen, !content.state.isForgotten else { return nil }
      return change(&content)
    }
  }

  func begin(_ index: Int) {
    record { content in
      let dropped = content.state.begin(index, at: condition == nil ? nil : .now)
      guard content.isObserved else { return dropped }
      content.retract(.latest(index))
      content.publish(.begun(index))
      content.publish(.overall)
      return dropped
    }
  }

  func finish(_ index: Int, after duration: Duration, error: (any Error)? = nil) {
    set(index, to: .finished(duration), error: error)
  }

  /// Ends the steps that are running when the run abandons them.
  func abandon(_ steps: Range<Int>, error: any Error) {
    for (index, duration) in broadcast.update({ $0.state.running(in: steps) }) {
      finish(index, after: duration, error: error)
    }
  }

  func undone(_ index: Int, error: (any Error)?) {
    set(index, to: .undone, error: error)
  }

  func report(_ index: Int, _ fraction: Double) {
    set(index, to: .progress(min(max(fraction.isNaN ? 0 : fraction, 0), 1)))
  }

  func retrying(_ index: Int, attempt: Int) {
    set(index, to: .retrying(attempt: attempt))
  }

  func reached(_ index: Int, stage: any Sendable) {
    record { content in
      let dropped = content.state.set(index, stage: stage)
      if dropped != nil, content.isObserved { content.publish(.latest(index)) }
      return dropped
    }
  }

  func end(_ outcome: Outcome<RunState>) {
    _ = broadcast.update { content -> Outcome<RunState>? in
      // Released outside the lock when the run is no longer observed.
      guard !content.state.isForgotten else { return outcome }
      content.state.end(outcome)
      content.publish(.overall)
      content.publish(.ended)
      content.finish()
      return nil
    }
  }

  private func set(_ index: Int, to phase: RunRecord.Phase, error: (any Error)? = nil) {
    record { content in
      let dropped = content.state.set(index, to: phase, error: error)
      guard dropped != nil, content.isObserved else { return dropped }
      content.publish(.latest(index))
      content.publish(.overall)
      return dropped
    }
  }

  /// Drops the record, because the handle and all subscribers are gone.
  func forget() {
    _ = broadcast.update { $0.state.forgetAll() }
  }

  // MARK: - Subscribers

  func observeEvents() -> Broadcast<RunRecord, Key>.Subscription {
    broadcast.subscribe(to: { $0 != .overall }) { $0.owed }
  }

  func observeProgress() -> Broadcast<RunRecord, Key>.Subscription {
    broadcast.subscribe(to: { $0 == .overall }) { _ in [.overall] }
  }

  func event(_ record: borrowing RunRecord, _ key: Key) -> ChainEvent? {
    record.event(for: key, names)
  }

  func progress(_ record: borrowing RunRecord, _ key: Key) -> ChainProgress? {
    guard key == .overall else { return nil }
    return ChainProgress(
      fractionCompleted: record.fraction,
      step: ChainStep(index: record.current, name: names[record.current]).description
    )
  }
}
