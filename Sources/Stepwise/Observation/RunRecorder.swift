// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Keeps what happens in a run for whoever looks, and tells those who look already.
final class RunRecorder: Sendable {
  typealias Key = RunRecord.Key

  private let broadcast: Broadcast<RunRecord, Key>
  private let names: [Int: String]

  init(stepCount: Int, names: [Int: String]) {
    broadcast = Broadcast(RunRecord(stepCount: stepCount))
    self.names = names
  }

  func begin(_ index: Int) {
    _ = broadcast.update { content in
      let dropped = content.state.begin(index)
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
    _ = broadcast.update { content in
      let dropped = content.state.set(index, stage: stage)
      if dropped != nil, content.isObserved { content.publish(.latest(index)) }
      return dropped
    }
  }

  /// - Parameters:
  ///   - hasValue: Whether the run ended with a value.
  ///   - state: How the run ended; asked for when somebody looks.
  func end(withValue hasValue: Bool, _ state: @escaping @Sendable () -> ChainState) {
    broadcast.update { content in
      content.state.end(withValue: hasValue, state)
      content.publish(.overall)
      content.publish(.ended)
      content.finish()
    }
  }

  private func set(_ index: Int, to phase: RunRecord.Phase, error: (any Error)? = nil) {
    _ = broadcast.update { content in
      let dropped = content.state.set(index, to: phase, error: error)
      guard dropped != nil, content.isObserved else { return dropped }
      content.publish(.latest(index))
      content.publish(.overall)
      return dropped
    }
  }

  // MARK: - Consumers

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
