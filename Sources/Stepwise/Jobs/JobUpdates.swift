// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The updates of a job, as an asynchronous sequence that starts with the newest update.
///
/// A slow subscriber receives only the newest update, and no buffer grows; `onUpdate` handlers receive each update. The
/// sequence ends with the job, after the last update, or when the iterating task is cancelled. There may be any number
/// of subscribers, at any time.
public struct JobUpdates<Update: Sendable>: AsyncSequence, Sendable {
  /// The type of an update.
  public typealias Element = Update
  /// Iterating does not throw; the job's outcome carries its error.
  public typealias Failure = Never

  let launch: JobLaunch

  /// Creates an iterator; each iterator is an independent subscription.
  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: launch.updates.subscribe { $0 == nil ? [] : [.newest] })
  }

  /// An iterator over the updates for one subscriber.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: JobLaunch.Updates.Subscription

    /// Waits, in the isolation of an actor, for an update newer than the last one; returns nil at the end.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Update? {
      await (subscription.next { newest, _ in copy newest } as? Box<Update>)?.value
    }
  }
}

@available(*, unavailable)
extension JobUpdates.Iterator: Sendable {}
