// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  #if canImport(FoundationEssentials)
    public import FoundationEssentials
  #else
    public import Foundation
  #endif

  /// Describes an attempt at a job: its worker, when it ran, and how it ended.
  ///
  /// Times are by the database's clock. An attempt that stopped only to wait is not one.
  public struct FleetAttempt: Hashable, Sendable {
    /// The number of the stage at which it ended, or is.
    public let stage: Int
    /// The number of the attempt at that stage.
    public let number: Int
    /// The name of the worker, or its number when it has none; nil for an attempt of an earlier version.
    public let worker: String?
    /// When a worker claimed the job.
    public let startedAt: Date
    /// When the attempt ended; nil while it runs.
    public let endedAt: Date?
    /// How it ended: the next state of the job, or `lost` when its worker died; `running` while it runs.
    public let outcome: String
    /// The text of its error, of which at most 500 characters are kept.
    public let error: String?
  }

  /// Counts the dead letters whose errors are the same but for the numbers in them.
  public struct FleetErrorGroup: Hashable, Sendable {
    /// The first line of one of the errors; as ``FleetFilter/error`` it matches the group.
    public let error: String
    /// The name of the type, as in ``FleetStatus/progression``.
    public let name: String
    /// The number of dead letters.
    public let count: Int
    /// When the last one failed.
    public let lastFailedAt: Date
    /// The id of one of them.
    public let exampleID: String
  }

  extension Fleet {
    /// Returns the attempts at a job, the oldest first: the last 20 that ended without a result, and the present or last one.
    ///
    /// - Parameter id: The id.
    /// - Returns: The attempts; none when no worker has claimed the job, or the fleet has none with the id.
    /// - Throws: ``PostgresError``.
    @concurrent public func attempts(of id: String) async throws -> [FleetAttempt] {
      if id.utf8.contains(0) { return [] }
      let rows = try await database.run(
        """
        SELECT (a ->> 'stage')::bigint, (a ->> 'attempt')::bigint, a ->> 'worker', (a ->> 'began')::float8,
          (a ->> 'ended')::float8, a ->> 'state', a ->> 'error'
        FROM @.jobs j CROSS JOIN LATERAL jsonb_array_elements(j.attempts) WITH ORDINALITY AS e(a, n) WHERE j.id = $1
        UNION ALL
        SELECT version, greatest(attempt, 1), claimed_by, extract(epoch FROM claimed_at)::float8,
          extract(epoch FROM finished_at)::float8, state, NULL
        FROM @.jobs WHERE id = $1 AND state IN ('running', 'done') AND claimed_at IS NOT NULL
        """,
        [.text(id)]
      )
      return rows.map { row in
        FleetAttempt(
          stage: Int(row.integer(0) ?? 0),
          number: Int(row.integer(1) ?? 0),
          worker: row.text(2),
          startedAt: row.date(3) ?? .distantPast,
          endedAt: row.date(4),
          outcome: row.text(5) ?? "",
          error: row.text(6)
        )
      }.sorted { $0.startedAt < $1.startedAt }
    }

    /// Returns the dead letters in groups with the same name and, apart from numbers, the same first line of the error.
    ///
    /// - Parameter limit: How many groups at most.
    /// - Returns: The groups, the largest first.
    /// - Throws: ``PostgresError``.
    @concurrent public func errors(limit: Int = 20) async throws -> [FleetErrorGroup] {
      try await database.run(
        """
        SELECT min(line), name, count(*), extract(epoch FROM max(finished_at))::float8, min(id)
        FROM (
          SELECT id, name, finished_at, left(split_part(coalesce(error, ''), chr(10), 1), 300) AS line
          FROM @.jobs WHERE state = 'failed'
        ) AS f
        GROUP BY name, \(FleetFilter.normalized("line")) ORDER BY count(*) DESC, name, 1 LIMIT $1
        """,
        [.integer(Int64(max(0, limit)))]
      ).map { row in
        FleetErrorGroup(
          error: row.text(0) ?? "",
          name: row.text(1) ?? "",
          count: Int(row.integer(2) ?? 0),
          lastFailedAt: row.date(3) ?? .distantPast,
          exampleID: row.text(4) ?? ""
        )
      }
    }

    /// Keeps a job from being started, until it is resumed, whatever ends its wait.
    ///
    /// A job that runs continues, and is paused when its attempt ends without a result.
    ///
    /// - Parameter id: The id.
    /// - Returns: A Boolean value that indicates whether the job has not ended and was not paused before.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func pause(job id: String) async throws -> Bool {
      if id.utf8.contains(0) { return false }
      let rows = try await database.run(
        """
        UPDATE @.jobs SET paused_at = clock_timestamp(), state = state
        WHERE id = $1 AND finished_at IS NULL AND paused_at IS NULL AND NOT cancel_requested RETURNING id
        """,
        [.text(id)]
      )
      return !rows.isEmpty
    }

    /// Lets a paused job be started again, when it is due.
    ///
    /// - Parameter id: The id.
    /// - Returns: A Boolean value that indicates whether the job was paused.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func resume(job id: String) async throws -> Bool {
      if id.utf8.contains(0) { return false }
      let isHeld = "state = 'scheduled' AND run_at = '9999-01-01 00:00:00+00'"
      let rows = try await database.run(
        """
        UPDATE @.jobs SET paused_at = NULL,
          state = CASE WHEN \(isHeld) AND paused_run_at <= clock_timestamp() THEN 'queued' ELSE state END,
          run_at = CASE WHEN \(isHeld) THEN paused_run_at ELSE run_at END
        WHERE id = $1 AND finished_at IS NULL AND paused_at IS NOT NULL RETURNING name, state
        """,
        [.text(id)]
      )
      if rows.first?.text(1) == "queued" { await announce(rows.first?.text(0) ?? "", 1) }
      return !rows.isEmpty
    }
  }
#endif
