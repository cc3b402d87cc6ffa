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
