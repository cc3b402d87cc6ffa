// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The number of requests in flight, as an asynchronous sequence that starts with the current number.
///
/// There may be any number of subscribers; a slow one receives the newest number. The sequence ends when the iterating
/// task is cancelled.
public struct HTTPActivity: AsyncSequence, Sendable {
  /// The number of requests in flight.
  public typealias Element = Int
  /// Iterating does not throw.
  public typealias Failure = Never

  private static let count = Broadcast<Int, Bool>(0)

  static func begin() { change(by: 1) }

  static func end() { change(by: -1) }

  private static func change(by difference: Int) {
    count.update { content in
      content.state += difference
      content.publish(true)
    }
  }

  /// The current number of requests in flight.
  public static var current: Int { count.update { $0.state } }

  init() {}

  /// Creates an iterator; each iterator is an independent subscription.
  public func makeAsyncIterator() -> Iterator { Iterator(subscription: Self.count.subscribe { _ in [true] }) }

  /// An iterator over the numbers for one subscriber.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: Broadcast<Int, Bool>.Subscription

    /// Waits for the next number in the isolation of an actor; returns nil when the task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
      await subscription.next { count, _ in count }
    }
  }
}

@available(*, unavailable)
extension HTTPActivity.Iterator: Sendable {}
