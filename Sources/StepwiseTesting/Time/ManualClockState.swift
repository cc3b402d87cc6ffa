// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a manual clock knows, as a pure value: the time, where it is going, and who sleeps.
package struct ManualClockState<Waiter: Sendable>: Sendable {
  package typealias Instant = ManualClock.Instant

  /// A sleep: by deadline, then by arrival.
  package struct Sleep: Hashable, Comparable, Sendable {
    package let deadline: Instant
    package let arrival: UInt64

    package static func < (left: Sleep, right: Sleep) -> Bool {
      (left.deadline, left.arrival) < (right.deadline, right.arrival)
    }
  }

  /// What becomes of a sleeper that has brought its waiter.
  package enum ParkAction: Sendable {
    /// It sleeps.
    case suspended
    /// Its deadline passed on the way.
    case wake
    /// It was cancelled on the way.
    case cancelled
  }

  /// What an advancing clock does next.
  package enum StepAction {
    /// The time is at a deadline: resume its sleeper, then step again.
    case wake(Waiter)
    /// The time is where it was to go.
    case arrived
  }

  package private(set) var now: Instant
  private var goal: Instant
  private var arrivals: UInt64 = 0
  private var sleepers = WaitingList<Sleep, Waiter>()

  package init(now: Instant = Instant()) {
    self.now = now
    goal = now
  }

  package var sleeperCount: Int { sleepers.count }

  package var nextDeadline: Instant? { sleepers.first?.key.deadline }

  /// Announces a sleep, which `park` must follow, or answers nil when its deadline has passed.
  package mutating func enter(until deadline: Instant) -> Sleep? {
    guard deadline > now else { return nil }
    arrivals += 1
    let sleep = Sleep(deadline: deadline, arrival: arrivals)
    sleepers.enter(sleep)
    return sleep
  }

  /// Takes the waiter of a sleep, keeping it only if the answer is that it is suspended.
  package mutating func park(_ sleep: Sleep, _ waiter: Waiter) -> ParkAction {
    guard sleepers.park(sleep, waiter) else { return .cancelled }
    guard sleep.deadline <= now else { return .suspended }
    _ = sleepers.cancel(sleep)
    return .wake
  }

  /// Ends a sleep, and hands out its waiter if it was suspended.
  package mutating func cancel(_ sleep: Sleep) -> Waiter? {
    sleepers.cancel(sleep)
  }

  /// Sets the goal a duration further; advances that happen at the same time add up.
  package mutating func aim(by duration: Duration) {
    aim(at: goal.advanced(by: max(duration, .zero)))
  }

  /// Sets the goal to an instant, unless it lies before the present goal.
  package mutating func aim(at instant: Instant) {
    goal = max(goal, instant)
  }

  /// Goes on towards the goal, to the next deadline at most.
  package mutating func step() -> StepAction {
    if let first = sleepers.first, first.key.deadline <= goal {
      now = max(now, first.key.deadline)
      _ = sleepers.removeFirst()
      return .wake(first.waiter)
    }
    now = goal
    return .arrived
  }
}
