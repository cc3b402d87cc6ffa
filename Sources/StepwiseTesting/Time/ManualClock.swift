// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints

/// A clock whose time your test advances, to test delays, retries and timeouts without waiting.
///
/// Pass it wherever your code takes a clock.
///
/// ```swift
/// let clock = ManualClock()
/// let run = chain.retry(policy, clock: clock).start(input)
/// await clock.sleepers(atLeast: 1)
/// clock.advance(by: .seconds(5))
/// ```
///
/// It may be used from any thread. Concurrent advances add up.
public final class ManualClock: Clock, Sendable {
  private let state: Watched<ManualClockState<Once<Void>>>

  /// Creates a clock that shows the given time.
  public init(now: Instant = Instant()) {
    state = Watched(ManualClockState(now: now))
  }

  /// The time that the clock shows.
  public var now: Instant {
    state.read(\.now)
  }

  /// Zero: the clock distinguishes any two instants.
  public var minimumResolution: Duration {
    .zero
  }

  /// The number of tasks that sleep.
  public var sleeperCount: Int {
    state.read(\.sleeperCount)
  }

  /// The earliest deadline of a sleeping task; nil when no task sleeps.
  public var nextDeadline: Instant? {
    state.read(\.nextDeadline)
  }

  /// Suspends until the clock has been advanced to the deadline.
  ///
  /// Returns immediately if the deadline has been reached. A sleeper wakes exactly at its deadline.
  /// - Parameters:
  ///   - deadline: The instant to sleep until.
  ///   - tolerance: Ignored.
  /// - Throws: `CancellationError` as soon as the sleeping task is cancelled, and if it already was.
  public nonisolated(nonsending) func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    let waking = Once<Void>()
    guard let sleep = state.mutate({ $0.add(waking, until: deadline) }) else { return }
    let awake: Void? = await withTaskCancellationHandler {
      await waking.value()
    } onCancel: {
      state.mutate { $0.remove(sleep) }
    }
    if awake == nil {
      // The cancelled task may get here before the canceller has called the handler.
      state.mutate { $0.remove(sleep) }
      throw CancellationError()
    }
  }

  /// Advances the time and wakes the tasks whose deadline passes, in order of deadline, then of arrival.
  ///
  /// This method does not suspend. `now` equals each deadline while its sleeper is resumed. The woken tasks run later:
  /// one that sleeps again does so at the time that the clock then shows. A negative duration has no effect. At the
  /// greatest instant, the time stops.
  public func advance(by duration: Duration) {
    state.mutate { $0.aim(by: duration) }
    move()
  }

  /// Advances the time to an instant, like `advance(by:)`; an instant in the past has no effect.
  public func advance(to instant: Instant) {
    state.mutate { $0.aim(at: instant) }
    move()
  }

  /// Advances the time to the next deadline and wakes the tasks that sleep until it; returns false when no task sleeps.
  package func advanceToNextDeadline() -> Bool {
    guard let nextDeadline else { return false }
    advance(to: nextDeadline)
    return true
  }

  /// Suspends until at least that many tasks sleep.
  ///
  /// Returns early when the waiting task is cancelled.
  public nonisolated(nonsending) func sleepers(atLeast count: Int) async {
    await state.wait { $0.sleeperCount >= count }
  }

  private func move() {
    while let waking = state.mutate({ $0.step() }) { waking.settle(()) }
  }
}

extension ManualClock {
  /// A point in the time of a manual clock, defined by its distance from the clock's zero.
  public struct Instant: InstantProtocol, Hashable, Sendable {
    /// The distance from the clock's zero.
    public let offset: Swift.Duration

    /// Creates the instant at the given distance from the clock's zero.
    public init(offset: Duration = .zero) {
      self.offset = offset
    }

    /// Returns the instant that is the given duration after this one; the greatest one if there is none so late.
    public func advanced(by duration: Duration) -> Instant {
      Instant(offset: offset.saturatedSum(duration))
    }

    /// Returns the time from this instant to another, negative when the other is earlier.
    ///
    /// A time that no duration can express is the longest one.
    public func duration(to other: Instant) -> Duration {
      let (time, overflows) = other.offset.attoseconds.subtractingReportingOverflow(offset.attoseconds)
      return Duration(attoseconds: overflows ? other < self ? .min : .max : time)
    }

    /// Returns a Boolean value that indicates whether an instant is earlier than another.
    public static func < (left: Instant, right: Instant) -> Bool {
      left.offset < right.offset
    }
  }
}

extension ManualClock {
  /// Runs the body, and advances the time to the next deadline whenever the body has nothing left to do but sleep.
  ///
  /// ```swift
  /// let clock = ManualClock()
  /// let value = try await clock.run { try await chain.retry(policy, clock: clock).run(input) }
  /// #expect(clock.now.offset == .seconds(3))
  /// ```
  ///
  /// Suspends until the body returns. The body runs on a separate thread, together with its child tasks, the default
  /// actors that it calls, and the runs that it starts. The time advances only while all of them are suspended, so
  /// sleepers wake in the order of their deadlines. What runs on the main actor is waited for as well, such as a flow, a
  /// step or the handlers of a job, and so is what the library does elsewhere: the files of a checkpoint store or a
  /// download. Other work is not: other actors with their own executor, `executor(_:)`, `Task.detached`, your own files,
  /// the network, and what the main actor awaits of these. A body that polls is never suspended, so the time does not
  /// advance; await instead.
  ///
  /// Cancellation reaches the body. The time stops when the body returns, even if tasks still sleep.
  /// - Parameter body: The work.
  /// - Returns: What the body returns.
  /// - Throws: What the body throws.
  public nonisolated(nonsending) func run<Value: Sendable>(
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let executor = QuietExecutor()
    return try await withTaskExecutorPreference(executor) { @concurrent in
      // Cancelled and awaited when the body has ended.
      async let _: Void = passTime(when: executor)
      return try await WorkElsewhere.$current.withValue(executor.workElsewhere, operation: body)
    }
  }

  /// Advances the time whenever the executor is idle, until the task is cancelled.
  @concurrent
  private func passTime(when executor: QuietExecutor) async {
    while !Task.isCancelled {
      await sleepers(atLeast: 1)
      await executor.quiet()
      if !Task.isCancelled { _ = advanceToNextDeadline() }
    }
  }
}

/// The state of a manual clock, as a value: the time, its target, and the sleepers.
package struct ManualClockState<Waiter: Sendable>: Sendable {
  package typealias Instant = ManualClock.Instant

  /// A sleep, ordered by deadline, then by arrival.
  package struct Sleep: Comparable, Sendable {
    package let deadline: Instant
    package let arrival: UInt64

    package static func < (left: Sleep, right: Sleep) -> Bool {
      (left.deadline, left.arrival) < (right.deadline, right.arrival)
    }
  }

  package private(set) var now: Instant
  private var goal: Instant
  private var arrivals: UInt64 = 0
  /// Those that sleep, by arrival.
  private var waiters: [UInt64: Waiter] = [:]
  /// A binary heap with the earliest deadline first; those without a waiter were cancelled, and are never first.
  private var queue: [Sleep] = []

  package init(now: Instant = Instant()) {
    self.now = now
    goal = now
  }

  package var sleeperCount: Int { waiters.count }

  package var nextDeadline: Instant? { queue.first?.deadline }

  /// Adds a sleeper; returns nil when its deadline has passed.
  package mutating func add(_ waiter: Waiter, until deadline: Instant) -> Sleep? {
    guard deadline > now else { return nil }
    arrivals += 1
    let sleep = Sleep(deadline: deadline, arrival: arrivals)
    waiters[sleep.arrival] = waiter
    queue.append(sleep)
    rise(from: queue.count - 1)
    return sleep
  }

  /// Removes a sleep, unless its waiter has woken.
  package mutating func remove(_ sleep: Sleep) {
    guard waiters.removeValue(forKey: sleep.arrival) != nil else { return }
    dropCancelled()
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
  ///
  /// - Returns: The sleeper to wake, then step again; nil when the time has reached its target.
  package mutating func step() -> Waiter? {
    guard let first = queue.first, first.deadline <= goal else {
      now = goal
      return nil
    }
    now = max(now, first.deadline)
    let waiter = waiters.removeValue(forKey: first.arrival)
    dropCancelled()
    return waiter
  }

  /// Removes those without a waiter from the front, and all of them once they are most of the queue.
  private mutating func dropCancelled() {
    if queue.count > 2 * waiters.count + 16 {
      // A sorted list is a heap.
      queue = queue.filter { waiters[$0.arrival] != nil }.sorted()
    }
    while let first = queue.first, waiters[first.arrival] == nil {
      let last = queue.removeLast()
      guard !queue.isEmpty else { return }
      queue[0] = last
      sink(from: 0)
    }
  }

  private mutating func rise(from position: Int) {
    var child = position
    while child > 0, case let parent = (child - 1) / 2, queue[child] < queue[parent] {
      queue.swapAt(child, parent)
      child = parent
    }
  }

  private mutating func sink(from position: Int) {
    var parent = position
    while case let left = 2 * parent + 1, left < queue.count {
      let right = left + 1
      let child = right < queue.count && queue[right] < queue[left] ? right : left
      guard queue[child] < queue[parent] else { return }
      queue.swapAt(child, parent)
      parent = child
    }
  }
}
