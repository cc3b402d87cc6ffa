// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The events of a run, as an asynchronous sequence.
///
/// A subscriber that starts late receives, for each step, that it started and its latest state, and then the events
/// that follow. A slow subscriber misses superseded events, but never the last one. No buffer grows beyond the number
/// of steps. The sequence ends after `.ended`, or when the iterating task is cancelled.
public struct ChainEvents: AsyncSequence, Sendable {
  /// An event of the run.
  public typealias Element = ChainEvent
  /// Iterating does not throw; the last event carries the outcome of the run.
  public typealias Failure = Never

  let recorder: RunRecorder
  /// The handle, whose release ends the recording.
  let run: any AnyObject & Sendable

  /// Creates an iterator; each iterator is an independent subscription.
  public func makeAsyncIterator() -> Iterator { Iterator(events: self, subscription: recorder.observeEvents()) }

  /// An iterator over the events for one subscriber.
  public struct Iterator: AsyncIteratorProtocol {
    let events: ChainEvents
    let subscription: Broadcast<RunRecord, RunRecord.Key>.Subscription

    /// Waits for the next event in the isolation of an actor; returns nil after the last one.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> ChainEvent? {
      await subscription.next { events.recorder.event($0, $1) }
    }
  }
}

@available(*, unavailable)
extension ChainEvents.Iterator: Sendable {}
