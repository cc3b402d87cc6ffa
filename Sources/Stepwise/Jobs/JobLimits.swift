// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The time limits of one launch.
struct JobLimits: Sendable {
  private let timeout: TimeLimit?
  private let deadline: TimeLimit?

  /// Starts the time of the deadline; returns nil when there is no limit.
  init?(_ settings: JobSettings) {
    guard settings.timeout != nil || settings.deadline != nil else { return nil }
    timeout = settings.timeout
    deadline = settings.deadline?.started()
  }

  /// Waits for a slot in the queue and does the work.
  ///
  /// - Throws: The error of the work; `TimeoutError` when no time was left.
  nonisolated(nonsending) func limit<Output: Sendable>(
    _ launch: JobLaunch,
    _ work: @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    guard let deadline else { return try await limitInTurn(launch, work) }
    return try await limited(to: deadline, step: launch.timeIsUp) { try await limitInTurn(launch, work) }
  }

  private nonisolated(nonsending) func limitInTurn<Output: Sendable>(
    _ launch: JobLaunch,
    _ work: @escaping @Sendable () async throws -> Output
  ) async throws -> Output {
    try await launch.waitForTurn()
    guard let timeout else { return try await work() }
    return try await limited(to: timeout, step: launch.timeIsUp, operation: work)
  }
}
