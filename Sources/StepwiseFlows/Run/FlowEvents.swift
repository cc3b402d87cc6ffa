// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

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

  /// The latest events, and their order.
  private var latest: [Key: (event: FlowEvent, number: Int)] = [:]
  private var count = 0

  /// Returns the key of the event, and the event that it replaces, to release it outside the lock.
  mutating func record(_ event: FlowEvent) -> (key: Key, replaced: FlowEvent?) {
    let key: Key
    var ending: FlowEvent?
    switch event {
    case .started: key = .started
    case .presented(let step):
      key = .presented(step)
      ending = latest.removeValue(forKey: .over(step))?.event
    case .answered(let step), .unanswered(let step, _): key = .over(step)
    case .ended: key = .ended
    }
    count += 1
    let replaced = latest.updateValue((event, count), forKey: key)?.event
    return (key, ending ?? replaced)
  }

  func event(for key: Key) -> FlowEvent? { latest[key]?.event }

  /// The events that a new subscriber receives first.
  var owed: [Key] { latest.sorted { $0.value.number < $1.value.number }.map(\.key) }
}

/// Stores the latest events of one run of a flow, and delivers them.
final class FlowRecorder: Sendable {
  private let broadcast = Broadcast<FlowRecord, FlowRecord.Key>(FlowRecord())

  func record(_ event: FlowEvent) {
    _ = broadcast.update { content -> FlowEvent? in
      let (key, replaced) = content.state.record(event)
      content.publish(key)
      if key == .ended { content.finish() }
      return replaced
    }
  }

  func observe() -> Broadcast<FlowRecord, FlowRecord.Key>.Subscription {
    broadcast.subscribe { $0.owed }
  }
}
