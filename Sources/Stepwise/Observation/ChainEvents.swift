// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What happens in a run, as an asynchronous sequence.
///
/// Whoever comes late is given, for each step, that it started and its latest state, and then what follows. Whoever is slow
/// misses what was superseded meanwhile, but never the end, and no buffer grows beyond the number of steps. The sequence
/// ends after `.ended`, or when the Task that iterates is cancelled.
public struct ChainEvents: AsyncSequence, Sendable {
  /// Something that happened in the run.
  public typealias Element = ChainEvent
  /// Iterating does not throw: how the run ended is an element.
  public typealias Failure = Never

  let recorder: RunRecorder
  /// The handle, whose release ends the record.
  let run: any AnyObject & Sendable

  /// Begins to look; each iterator looks for itself.
  public func makeAsyncIterator() -> Iterator {
    Iterator(recorder: recorder, run: run, subscription: recorder.observeEvents())
  }

  /// Looks at one run for one consumer.
  public struct Iterator: AsyncIteratorProtocol {
    let recorder: RunRecorder
    let run: any AnyObject & Sendable
    let subscription: Broadcast<RunRecord, RunRecord.Key>.Subscription

    /// Waits for the next event; nil after the last.
    public mutating func next() async -> ChainEvent? { await next(isolation: nil) }

    /// Waits for the next event in an actor's isolation; nil after the last.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> ChainEvent? {
      await subscription.next { recorder.event($0, $1) }
    }
  }
}

@available(*, unavailable)
extension ChainEvents.Iterator: Sendable {}
