// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The number of requests in flight, as an asynchronous sequence that begins with how many there are now.
///
/// Any number of consumers may look; whoever is slow is given the newest. It goes on until the Task that iterates is
/// cancelled.
public struct HTTPActivity: AsyncSequence, Sendable {
  /// How many requests are in flight.
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

  /// How many requests are in flight at this moment.
  public static var current: Int { count.update { $0.state } }

  init() {}

  /// Begins to look; each iterator looks for itself.
  public func makeAsyncIterator() -> Iterator {
    Iterator(subscription: Self.count.subscribe { _ in [true] })
  }

  /// Looks for one consumer.
  public struct Iterator: AsyncIteratorProtocol {
    let subscription: Broadcast<Int, Bool>.Subscription

    /// Waits for the next number; nil when the Task is cancelled.
    public mutating func next() async -> Int? { await next(isolation: nil) }

    /// Waits for the next number in an actor's isolation; nil when the Task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
      await subscription.next { count, _ in count }
    }
  }
}

@available(*, unavailable)
extension HTTPActivity.Iterator: Sendable {}
