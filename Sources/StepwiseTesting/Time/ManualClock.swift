// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A clock whose time a test advances.
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
  private let state: Watched<ManualClockState<CheckedContinuation<Void, any Error>>>

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
    guard let sleep = state.mutate({ $0.enter(until: deadline) }) else { return }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        switch state.mutate({ $0.park(sleep, continuation) }) {
        case .suspended: break
        case .wake: continuation.resume()
        case .cancelled: continuation.resume(throwing: CancellationError())
        }
      }
    } onCancel: {
      state.mutate { $0.cancel(sleep) }?.resume(throwing: CancellationError())
    }
  }

  /// Advances the time and wakes the tasks whose deadline passes, in order of deadline, then of arrival.
  ///
  /// This method does not suspend. `now` equals each deadline while its sleeper is resumed. The woken tasks run later:
  /// one that sleeps again does so at the time that the clock then shows. A negative duration has no effect.
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
    while case .wake(let sleeper) = state.mutate({ $0.step() }) {
      sleeper.resume()
    }
  }
}
