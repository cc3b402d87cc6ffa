// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The progress of a run, as an asynchronous sequence that starts with the current progress.
///
/// A slow subscriber receives the newest element. The sequence ends after the last element of the run, or when the
/// iterating task is cancelled.
public struct ChainProgressUpdates: AsyncSequence, Sendable {
  /// The progress of the run.
  public typealias Element = ChainProgress
  /// Iterating does not throw.
  public typealias Failure = Never

  let recorder: RunRecorder
  /// The handle, whose release ends the recording.
  let run: any AnyObject & Sendable

  /// Creates an iterator; each iterator is an independent subscription.
  public func makeAsyncIterator() -> Iterator { Iterator(updates: self, subscription: recorder.observeProgress()) }

  /// An iterator over the progress for one subscriber.
  public struct Iterator: AsyncIteratorProtocol {
    let updates: ChainProgressUpdates
    let subscription: Broadcast<RunRecord, RunRecord.Key>.Subscription

    /// Waits for the next element in the isolation of an actor; returns nil after the last one.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> ChainProgress? {
      await subscription.next { updates.recorder.progress($0, $1) }
    }
  }
}

@available(*, unavailable)
extension ChainProgressUpdates.Iterator: Sendable {}
