// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a job tells while it runs, as an asynchronous sequence that begins with the newest update.
///
/// Whoever is slow is given the newest, and no buffer grows; `onUpdate` is given each. The sequence ends with the job, after
/// the last update, or when the Task that iterates is cancelled. Any number of consumers may look, at any time.
public struct JobUpdates<Update: Sendable>: AsyncSequence, Sendable {
  /// What the job tells.
  public typealias Element = Update
  /// Iterating does not throw: how the job ended is its outcome.
  public typealias Failure = Never

  typealias Latest = Broadcast<JobChannel.Latest, JobChannel.Key>

  let latest: Latest

  /// Begins to look; each iterator looks for itself.
  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: latest.subscribe { $0.update == nil ? [] : [.latest] })
  }

  /// Looks at one run for one consumer.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: Latest.Subscription

    /// Waits for an update newer than the one taken last; nil at the end.
    public mutating func next() async -> Update? { await next(isolation: nil) }

    /// Waits, in an actor's isolation, for an update newer than the one taken last; nil at the end.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Update? {
      await subscription.next { latest, _ in latest.update }.flatMap { JobBox<Update>.value(in: $0) }
    }
  }
}

@available(*, unavailable)
extension JobUpdates.Iterator: Sendable {}
