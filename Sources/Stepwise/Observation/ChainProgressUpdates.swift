// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How far a run is, as an asynchronous sequence that begins with how far it is now.
///
/// Whoever is slow is given the newest. The sequence ends with the run, after its last element, or when the Task that
/// iterates is cancelled.
public struct ChainProgressUpdates: AsyncSequence, Sendable {
  /// How far the run is.
  public typealias Element = ChainProgress
  /// Iterating does not throw.
  public typealias Failure = Never

  let recorder: RunRecorder
  /// The handle, whose release ends the record.
  let run: any AnyObject & Sendable

  /// Begins to look; each iterator looks for itself.
  public func makeAsyncIterator() -> Iterator {
    Iterator(recorder: recorder, run: run, subscription: recorder.observeProgress())
  }

  /// Looks at one run for one consumer.
  public struct Iterator: AsyncIteratorProtocol {
    let recorder: RunRecorder
    let run: any AnyObject & Sendable
    let subscription: Broadcast<RunRecord, RunRecord.Key>.Subscription

    /// Waits for the next element; nil after the last.
    public mutating func next() async -> ChainProgress? { await next(isolation: nil) }

    /// Waits for the next element in an actor's isolation; nil after the last.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> ChainProgress? {
      await subscription.next { recorder.progress($0, $1) }
    }
  }
}

@available(*, unavailable)
extension ChainProgressUpdates.Iterator: Sendable {}
