// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The state of a manual clock, as a value: the time, its target, and the sleepers.
package struct ManualClockState<Waiter: Sendable>: Sendable {
  package typealias Instant = ManualClock.Instant

  /// A sleep, ordered by deadline, then by arrival.
  package struct Sleep: Hashable, Comparable, Sendable {
    package let deadline: Instant
    package let arrival: UInt64

    package static func < (left: Sleep, right: Sleep) -> Bool {
      (left.deadline, left.arrival) < (right.deadline, right.arrival)
    }
  }

  /// What happens to a sleeper that is parked.
  package enum ParkAction: Sendable {
    /// It sleeps.
    case suspended
    /// Its deadline passed before it was parked.
    case wake
    /// It was cancelled before it was parked.
    case cancelled
  }

  /// The next action of an advancing clock.
  package enum StepAction {
    /// The time is at a deadline: resume its sleeper, then step again.
    case wake(Waiter)
    /// The time has reached its target.
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

  /// Announces a sleep, which `park` must follow; returns nil when its deadline has passed.
  package mutating func enter(until deadline: Instant) -> Sleep? {
    guard deadline > now else { return nil }
    arrivals += 1
    let sleep = Sleep(deadline: deadline, arrival: arrivals)
    sleepers.enter(sleep)
    return sleep
  }

  /// Parks the waiter of a sleep, which is stored only if the result is `suspended`.
  package mutating func park(_ sleep: Sleep, _ waiter: Waiter) -> ParkAction {
    guard sleepers.park(sleep, waiter) else { return .cancelled }
    guard sleep.deadline <= now else { return .suspended }
    _ = sleepers.cancel(sleep)
    return .wake
  }

  /// Ends a sleep, and returns its waiter if it was suspended.
  package mutating func cancel(_ sleep: Sleep) -> Waiter? {
    sleepers.cancel(sleep)
  }

  /// Moves the target by a duration; concurrent advances add up.
  package mutating func aim(by duration: Duration) {
    aim(at: goal.advanced(by: max(duration, .zero)))
  }

  /// Moves the target to an instant, unless it is before the current target.
  package mutating func aim(at instant: Instant) {
    goal = max(goal, instant)
  }

  /// Moves towards the target, to the next deadline at most.
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
