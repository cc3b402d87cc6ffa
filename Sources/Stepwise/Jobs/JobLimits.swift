// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The time limits of one launch.
struct JobLimits: Sendable {
  struct Limit: Sendable {
    let duration: Duration
    let clock: any Clock<Duration>

    /// Starts the timer.
    var timer: @Sendable () async throws -> Void { Self.timer(for: duration, on: clock) }

    private static func timer<C: Clock<Duration>>(
      for duration: Duration,
      on clock: C
    ) -> @Sendable () async throws -> Void {
      let end = clock.now.advanced(by: duration.clamped)
      return { try await clock.sleep(until: end, tolerance: nil) }
    }
  }

  private let timeout: Limit?
  private let deadline: (duration: Duration, timer: @Sendable () async throws -> Void)?

  /// Starts the timer of the deadline; returns nil when there is no limit.
  init?(_ settings: JobSettings) {
    guard settings.timeout != nil || settings.deadline != nil else { return nil }
    timeout = settings.timeout
    deadline = settings.deadline.map { ($0.duration, $0.timer) }
  }

  /// Waits for a slot in the queue and does the work.
  ///
  /// - Throws: The error of the work; `TimeoutError` when no time was left.
  nonisolated(nonsending) func limit<Output: Sendable>(
    _ launch: JobLaunch,
    _ work: @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    guard let (duration, timer) = deadline else { return try await limitInTurn(launch, work) }
    return try await limited(to: duration, timer: timer, step: launch.timeIsUp) { try await limitInTurn(launch, work) }
  }

  private nonisolated(nonsending) func limitInTurn<Output: Sendable>(
    _ launch: JobLaunch,
    _ work: @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    try await launch.waitForTurn()
    guard let timeout else { return try await work() }
    return try await limited(to: timeout.duration, clock: timeout.clock, step: launch.timeIsUp, operation: work)
  }
}
