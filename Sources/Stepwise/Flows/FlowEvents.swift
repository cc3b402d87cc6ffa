// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What happens in a run of a flow, as an asynchronous sequence.
///
/// Whoever comes late is given the latest state of each step, then what follows. Whoever is slow misses what was superseded
/// meanwhile, but never the end, and no buffer grows beyond the number of steps. The sequence ends after `.ended`, or when
/// the Task that iterates is cancelled.
public struct FlowEvents: AsyncSequence, Sendable {
  /// Something that happened in the run.
  public typealias Element = FlowEvent
  /// Iterating does not throw: how the run ended is an element.
  public typealias Failure = Never

  let recorder: FlowRecorder

  /// Begins to look; each iterator looks for itself.
  public func makeAsyncIterator() -> Iterator { Iterator(subscription: recorder.observe()) }

  /// Looks at one run for one consumer.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: Broadcast<FlowRecord, FlowRecord.Key>.Subscription

    /// Waits for the next event; nil after the last.
    public mutating func next() async -> FlowEvent? { await next(isolation: nil) }

    /// Waits for the next event in an actor's isolation; nil after the last.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> FlowEvent? {
      await subscription.next { $0.event(for: $1) }
    }
  }
}

@available(*, unavailable)
extension FlowEvents.Iterator: Sendable {}
