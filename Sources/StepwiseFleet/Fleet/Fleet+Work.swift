// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise

  extension Fleet {
    /// Runs the fleet's jobs in this process until the token, or the calling Task, is cancelled.
    ///
    /// Then the worker drains: it claims no further job, each stage in progress may end within the drain limit and is
    /// saved, and the jobs return to the queue. Stages that take longer are cancelled. This returns when no stage runs
    /// here any more, so a stage that ignores cancellation delays it.
    ///
    /// In `withTerminationSignals`, Ctrl-C and SIGTERM begin the drain.
    ///
    /// While the server cannot be reached, stages run on until the lease is over; then they are cancelled, and the
    /// worker registers again when it can.
    ///
    /// - Parameters:
    ///   - token: The token that begins the drain.
    ///   - onEvent: Called with each event, from any thread and concurrently.
    /// - Throws: ``PostgresError`` when the server cannot be reached at first, or refuses the tables, a claim or a
    ///   registration for a reason that stays, such as a missing right. In that case the worker drains first.
    @concurrent public func work(
      until token: CancellationToken = CancellationToken(),
      onEvent: @escaping @Sendable (FleetEvent) -> Void = { _ in }
    ) async throws {
      let registrations = registrations.withLock { $0 }
      try await FleetWorker(self, registrations, onEvent: onEvent).run(until: token)
    }
  }
#endif
