// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A clock whose time passes only when a test says so.
///
/// ```swift
/// let clock = ManualClock()
/// let run = chain.retry(policy, clock: clock).start(input)
/// await clock.sleepers(atLeast: 1)
/// clock.advance(by: .seconds(5))
/// ```
///
/// It may be used from any thread. Advances that are made from several threads at once add up.
public final class ManualClock: Clock, Sendable {
  private let state: Watched<ManualClockState<CheckedContinuation<Void, any Error>>>

  /// Makes a clock that shows the given time.
  public init(now: Instant = Instant()) {
    state = Watched(ManualClockState(now: now))
  }

  /// The time that the clock shows.
  public var now: Instant {
    state.read(\.now)
  }

  /// Zero: the clock tells any two instants apart.
  public var minimumResolution: Duration {
    .zero
  }

  /// How many tasks sleep at this moment.
  public var sleeperCount: Int {
    state.read(\.sleeperCount)
  }

  /// The earliest deadline that somebody sleeps until, or nil when nobody sleeps.
  public var nextDeadline: Instant? {
    state.read(\.nextDeadline)
  }

  /// Suspends until the clock has been advanced to the deadline.
  ///
  /// A deadline that has been reached returns at once. A sleeper wakes exactly at its deadline.
  /// - Parameters:
  ///   - deadline: The instant to sleep until.
  ///   - tolerance: Ignored.
  /// - Throws: `CancellationError` as soon as the sleeping task is cancelled, also when it was cancelled before.
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

  /// Moves the time on and wakes those whose deadline passes, in order of deadline, then of arrival.
  ///
  /// Does not suspend. `now` stands at each deadline while its sleeper is resumed. The tasks that were woken run later:
  /// one that goes to sleep again does so at the time at which it then looks at the clock. A negative duration does
  /// nothing.
  public func advance(by duration: Duration) {
    state.mutate { $0.aim(by: duration) }
    move()
  }

  /// Moves the time on to an instant, as `advance(by:)` does; one that has passed does nothing.
  public func advance(to instant: Instant) {
    state.mutate { $0.aim(at: instant) }
    move()
  }

  /// Moves the time on to the next deadline and wakes those who sleep until it, or answers false when nobody sleeps.
  package func advanceToNextDeadline() -> Bool {
    guard let nextDeadline else { return false }
    advance(to: nextDeadline)
    return true
  }

  /// Suspends until at least that many tasks sleep.
  ///
  /// Returns early, whoever sleeps, when the waiting task is cancelled.
  public nonisolated(nonsending) func sleepers(atLeast count: Int) async {
    await state.wait { $0.sleeperCount >= count }
  }

  private func move() {
    while case .wake(let sleeper) = state.mutate({ $0.step() }) {
      sleeper.resume()
    }
  }
}
