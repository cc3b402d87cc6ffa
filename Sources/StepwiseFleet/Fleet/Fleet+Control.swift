// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  extension Fleet {
    /// Requests the cancellation of jobs, wherever they run.
    ///
    /// A job that does not run is cancelled at once. One that runs is cancelled with its stage's Task: within a round
    /// trip where its worker hears notifications, and otherwise within its poll interval. If its last stage is saved
    /// first, the job is done.
    ///
    /// - Parameters:
    ///   - ids: The ids; those of jobs that have ended or do not exist are ignored.
    ///   - reason: The reason, for ``FleetStatus/cancellationReason``.
    /// - Returns: The number of jobs that were cancelled or are about to be.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func cancel(_ ids: [String], reason: String? = nil) async throws -> Int {
      let rows = try await database.run(
        """
        WITH found AS (
          SELECT id FROM @.jobs
          WHERE id = ANY ($1) AND state IN ('queued', 'scheduled', 'running', 'waiting') ORDER BY id FOR UPDATE
        ), changed AS (
          UPDATE @.jobs j SET
            cancel_requested = true, cancel_reason = coalesce(j.cancel_reason, $2),
            state = CASE WHEN j.state = 'running' THEN 'running' ELSE 'cancelled' END,
            finished_at = CASE WHEN j.state <> 'running' THEN clock_timestamp() END
          FROM found WHERE found.id = j.id
          RETURNING j.id, j.state
        )
        SELECT pg_notify($3, CASE WHEN state = 'running' THEN 'c' ELSE 's' END || id)::text FROM changed
        """,
        [.texts(ids), reason.map { .text($0) } ?? .nullText, .text(configuration.schema)]
      )
      return rows.count
    }

    /// Requests the cancellation of a job, as `cancel(_:reason:)` of many does.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - reason: The reason, for ``FleetStatus/cancellationReason``.
    /// - Returns: A Boolean value that indicates whether the job was cancelled or is about to be.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func cancel(_ id: String, reason: String? = nil) async throws -> Bool {
      try await cancel([id], reason: reason) == 1
    }

    /// Queues a dead letter or a cancelled job again, at the stage it had reached and with all of its attempts.
    ///
    /// - Parameter id: The id.
    /// - Returns: A Boolean value that indicates whether the job was queued.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func requeue(_ id: String) async throws -> Bool {
      let rows = try await database.run(
        """
        WITH changed AS (
          UPDATE @.jobs SET
            state = 'queued', attempt = 0, error = NULL, cancel_requested = false, cancel_reason = NULL, finished_at = NULL,
            run_at = clock_timestamp()
          WHERE id = $1 AND state IN ('failed', 'cancelled') RETURNING id
        )
        SELECT pg_notify($2, 'q')::text FROM changed
        """,
        [.text(id), .text(configuration.schema)]
      )
      return !rows.isEmpty
    }

    /// Enqueues a new job that begins at a stage of another one, which stays as it is.
    ///
    /// - Parameters:
    ///   - id: The job to fork; it keeps its stages, or the stage is its first or last.
    ///   - number: The stage: 1 for the first, up to ``FleetStatus/stageCount``.
    ///   - newID: The id of the new job.
    /// - Returns: A Boolean value that indicates whether the new id was free.
    /// - Throws: ``FleetError/notFound(id:)`` when that stage is not stored; ``PostgresError``.
    @discardableResult
    @concurrent public func fork(_ id: String, fromStage number: Int, as newID: String) async throws -> Bool {
      try Self.check(newID)
      let rows = try await database.run(
        """
        WITH origin AS (
          SELECT j.name, j.key, j.priority, j.keeps_stages, s.shape, s.stage FROM @.jobs j, LATERAL (
            SELECT shape, stage FROM @.stages WHERE id = $1 AND version = $2
            UNION SELECT j.shape, coalesce(j.stage, j.first) WHERE j.version = $2
            UNION SELECT j.first_shape, j.first WHERE $2 = 1
          ) AS s
          WHERE j.id = $1 LIMIT 1
        ), added AS (
          INSERT INTO @.jobs (id, name, key, priority, state, run_at, keeps_stages, first_shape, first, shape)
          SELECT $3, name, key, priority, 'queued', clock_timestamp(), keeps_stages, shape, stage, shape FROM origin
          ON CONFLICT (id) DO NOTHING RETURNING id
        )
        SELECT (SELECT count(*) FROM origin), (SELECT count(*) FROM added),
          (SELECT pg_notify($4, 'q')::text FROM added)
        """,
        [.text(id), .integer(Int64(number)), .text(newID), .text(configuration.schema)]
      )
      guard let row = rows.first, row.integer(0) == 1 else { throw FleetError.notFound(id: id) }
      return row.integer(1) == 1
    }

    /// Removes jobs that ended longer ago than an age, with their stages.
    ///
    /// It removes 1,000 in a statement: no lock is held for long. Children, and jobs that another one waits for, are kept
    /// until that job has ended.
    ///
    /// - Parameters:
    ///   - age: How long ago a job has ended at least, by the database's clock.
    ///   - states: The states of jobs to remove; dead letters are kept unless they are named.
    /// - Returns: The number of jobs that were removed.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func prune(
      olderThan age: Duration,
      states: Set<FleetState> = [.done, .cancelled]
    ) async throws -> Int {
      var total = 0
      while true {
        let rows = try await database.run(
          """
          WITH gone AS (
            DELETE FROM @.jobs WHERE id IN (
              SELECT id FROM @.jobs
              WHERE finished_at < clock_timestamp() - $1::float8 * interval '1 second' AND state = ANY ($2)
                AND NOT EXISTS (SELECT FROM @.waits w WHERE w.child = jobs.id)
                AND NOT EXISTS (SELECT FROM @.jobs p WHERE p.id = jobs.parent AND p.finished_at IS NULL)
              ORDER BY finished_at LIMIT 1000 FOR UPDATE SKIP LOCKED
            ) RETURNING id
          ), kept AS (DELETE FROM @.stages USING gone WHERE stages.id = gone.id)
          SELECT count(*) FROM gone
          """,
          [.real(age / .seconds(1)), .texts(states.filter(\.isFinal).map(\.description))]
        )
        let count = Int(rows.first?.integer(0) ?? 0)
        total += count
        if count < 1_000 { return total }
      }
    }
  }
#endif
