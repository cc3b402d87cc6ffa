// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
  import StepwiseCheckpoints

  extension Fleet {
    /// Waits for the result of a job, wherever it runs.
    ///
    /// Cancelling the calling Task ends the wait and not the job.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - type: The progression type that was enqueued.
    /// - Returns: The result of the last stage.
    /// - Throws: ``FleetError`` when the job failed, was cancelled or does not exist; ``PostgresError``;
    ///   `CancellationError`.
    @concurrent public func result<P: Progression & Codable>(of id: String, as type: P.Type) async throws -> P.Result {
      let coder = StageCoder<P>()
      var delay = Duration.milliseconds(250)
      while true {
        try Task.checkCancellation()
        let ticket = hub.ticket(for: id)
        defer { hub.discard(ticket, for: id) }
        guard let status = try await watch(id) else { throw FleetError.notFound(id: id) }
        guard status.progression == coder.name else {
          throw FleetError.foreignType(id: id, stored: status.progression, expected: coder.name)
        }
        if status.state == .done {
          let rows = try await database.run(
            "SELECT shape, coalesce(stage, first) FROM @.jobs WHERE id = $1",
            [.text(id)]
          )
          guard let row = rows.first else { throw FleetError.notFound(id: id) }
          let stage = try decode(row.text(1), row.integer(0), coder, id)
          guard let result = stage.result else {
            throw FleetError.unknownShape(id: id, reason: "the last stage has no result in this program")
          }
          return result
        }
        try check(status)
        await ticket.wait(upTo: delay)
        delay = min(delay * 2, .seconds(5))
      }
    }

    /// The stages of a job, wherever it runs: those that it has passed, and each further one soon after it was saved.
    ///
    /// All stages are delivered in order if the job keeps its stages; otherwise the last one that is stored, each time
    /// it is looked up.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - type: The progression type that was enqueued.
    /// - Returns: The stages; nothing happens before the first is requested.
    public func stages<P: Progression & Codable>(of id: String, as type: P.Type) -> FleetStages<P> {
      FleetStages(fleet: self, id: id)
    }

    /// Returns the state of a job; nil when the fleet has none with the id.
    ///
    /// - Parameter id: The id.
    /// - Returns: The state.
    /// - Throws: ``PostgresError``.
    @concurrent public func status(of id: String) async throws -> FleetStatus? {
      try await statuses(of: [id]).first
    }

    /// Returns the number of jobs in each state that there are any in.
    ///
    /// It reads the whole table.
    ///
    /// - Returns: The numbers.
    /// - Throws: ``PostgresError``.
    @concurrent public func counts() async throws -> [FleetState: Int] {
      let rows = try await database.run("SELECT state, count(*) FROM @.jobs GROUP BY state")
      return Dictionary(rows.map { (FleetState($0.text(0) ?? ""), Int($0.integer(1) ?? 0)) }) { $0 + $1 }
    }

    /// Returns the dead letters that failed last.
    ///
    /// - Parameter limit: How many at most.
    /// - Returns: The jobs, the last one to fail first.
    /// - Throws: ``PostgresError``.
    @concurrent public func deadLetters(limit: Int = 100) async throws -> [FleetStatus] {
      try await database.run(
        "SELECT \(FleetStatus.columns) FROM @.jobs WHERE state = 'failed' ORDER BY finished_at DESC LIMIT $1",
        [.integer(Int64(max(0, limit)))]
      ).map(FleetStatus.init)
    }

    func statuses(of ids: [String]) async throws -> [FleetStatus] {
      try await database.run("SELECT \(FleetStatus.columns) FROM @.jobs WHERE id = ANY ($1)", [.texts(ids)])
        .map(FleetStatus.init)
    }

    /// Returns the state, and has notifications sent about the job for a minute if it has not ended.
    ///
    /// A claim skips a row that this holds locked, so that a queued job is announced again.
    func watch(_ id: String) async throws -> FleetStatus? {
      let rows = try await database.run(
        """
        UPDATE @.jobs SET watched_until = clock_timestamp() + interval '1 minute'
        WHERE id = $1 AND finished_at IS NULL AND (watched_until IS NULL OR watched_until < clock_timestamp() + interval '30 seconds')
        RETURNING \(FleetStatus.columns)
        """,
        [.text(id)]
      )
      guard let status = rows.first.map(FleetStatus.init) else { return try await status(of: id) }
      if status.state == .queued { await announce() }
      return status
    }

    /// Throws for a job that has ended without a result.
    func check(_ status: FleetStatus) throws(FleetError) {
      if status.state == .failed { throw .failed(id: status.id, error: status.error ?? "no error was stored") }
      if status.state == .cancelled { throw .cancelled(id: status.id, reason: status.cancellationReason) }
    }

    func decode<P: Progression & Codable>(
      _ text: String?,
      _ shape: Int64?,
      _ coder: StageCoder<P>,
      _ id: String
    ) throws(FleetError) -> P {
      do {
        return try coder.decode(Array((text ?? "").utf8), schemaVersion: Int(shape ?? 0))
      } catch {
        throw .unknownShape(id: id, reason: error.reason)
      }
    }
  }
#endif
