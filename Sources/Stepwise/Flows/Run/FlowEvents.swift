// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The events of a run of a flow, as an asynchronous sequence.
///
/// A subscriber that starts late receives the latest state of each step, then the events that follow. A slow subscriber
/// misses superseded events, but never the last one. No buffer grows beyond the number of steps. The sequence ends
/// after `.ended`, or when the iterating task is cancelled.
public struct FlowEvents: AsyncSequence, Sendable {
  /// An event of the run.
  public typealias Element = FlowEvent
  /// Iterating does not throw; the last event carries the outcome of the run.
  public typealias Failure = Never

  let recorder: FlowRecorder

  /// Creates an iterator; each iterator is an independent subscription.
  public func makeAsyncIterator() -> Iterator { Iterator(subscription: recorder.observe()) }

  /// An iterator over the events for one subscriber.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: Broadcast<FlowRecord, FlowRecord.Key>.Subscription

    /// Waits for the next event in the isolation of an actor; returns nil after the last one.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> FlowEvent? {
      await subscription.next { $0.event(for: $1) }
    }
  }
}

@available(*, unavailable)
extension FlowEvents.Iterator: Sendable {}

/// The latest state of each step of a flow's run.
struct FlowRecord {
  enum Key: Hashable, Sendable {
    case started
    case presented(String)
    case over(String)
    case ended
  }

  /// The latest event of each step, and the number of its latest presentation.
  private var latest: [String: (event: FlowEvent, turn: Int)] = [:]
  private var turns = 0
  private var hasStarted = false
  private var end: FlowEvent?

  /// Returns the key of the event.
  mutating func record(_ event: FlowEvent) -> Key {
    switch event {
    case .started:
      hasStarted = true
      return .started
    case .presented(let step):
      turns += 1
      latest[step] = (event, turns)
      return .presented(step)
    case .answered(let step), .unanswered(let step, _):
      latest[step]?.event = event
      return .over(step)
    case .ended:
      end = event
      return .ended
    }
  }

  func event(for key: Key) -> FlowEvent? {
    switch key {
    case .started: .started
    case .presented(let step): .presented(step: step)
    case .over(let step): isOver(step) ? latest[step]?.event : nil
    case .ended: end
    }
  }

  /// The events that a new subscriber receives first.
  var owed: [Key] {
    var keys: [Key] = hasStarted ? [.started] : []
    for (step, _) in latest.sorted(by: { $0.value.turn < $1.value.turn }) {
      keys += isOver(step) ? [.presented(step), .over(step)] : [.presented(step)]
    }
    return end == nil ? keys : keys + [.ended]
  }

  private func isOver(_ step: String) -> Bool {
    if case .presented = latest[step]?.event { false } else { true }
  }
}

/// Stores the latest events of one run of a flow, and delivers them.
final class FlowRecorder: Sendable {
  private let broadcast = Broadcast<FlowRecord, FlowRecord.Key>(FlowRecord())

  func record(_ event: FlowEvent) {
    broadcast.update { content in
      let key = content.state.record(event)
      content.publish(key)
      if key == .ended { content.finish() }
    }
  }

  func observe() -> Broadcast<FlowRecord, FlowRecord.Key>.Subscription {
    broadcast.subscribe { $0.owed }
  }
}
