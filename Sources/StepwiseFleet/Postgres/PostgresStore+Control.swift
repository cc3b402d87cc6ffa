// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  /// What operators and programs change.
  extension PostgresStore {
    func cancel(_ ids: [String], reason: String?) async throws -> Int {
      let rows = try await database.run(
        """
        SELECT CASE WHEN o_state = 'queued' THEN @.announce($3, o_name, 1)
          ELSE pg_notify($3, CASE WHEN o_state = 'running' THEN 'c' ELSE 's' END || o_id)::text END, o_id = ANY ($1)
        FROM (SELECT DISTINCT * FROM @.cancel($1, $2)) AS changed
        """,
        [.texts(ids), .text(reason), .text(database.schema.name)]
      )
      return rows.count { $0.isTrue(1) }
    }

    func pause(_ name: String) async throws -> Bool {
      let rows = try await database.run(
        "INSERT INTO @.pauses VALUES ($1, clock_timestamp()) ON CONFLICT (name) DO NOTHING RETURNING name",
        [.text(name)]
      )
      return !rows.isEmpty
    }

    func resume(_ name: String) async throws -> Bool {
      try await !database.run("DELETE FROM @.pauses WHERE name = $1 RETURNING name", [.text(name)]).isEmpty
    }

    func pauseJob(_ id: String) async throws -> Bool {
      let rows = try await database.run(
        """
        UPDATE @.jobs SET paused_at = clock_timestamp(), state = state
        WHERE id = $1 AND finished_at IS NULL AND paused_at IS NULL AND NOT cancel_requested RETURNING id
        """,
        [.text(id)]
      )
      return !rows.isEmpty
    }

    func resumeJob(_ id: String) async throws -> (name: String, state: FleetState)? {
      let isHeld = "state = 'scheduled' AND run_at = '9999-01-01 00:00:00+00'"
      let row = try await database.run(
        """
        UPDATE @.jobs SET paused_at = NULL,
          state = CASE WHEN \(isHeld) AND paused_run_at <= clock_timestamp() THEN 'queued' ELSE state END,
          run_at = CASE WHEN \(isHeld) THEN paused_run_at ELSE run_at END
        WHERE id = $1 AND finished_at IS NULL AND paused_at IS NOT NULL RETURNING name, state
        """,
        [.text(id)]
      ).first
      return row.map { ($0.text(0) ?? "", FleetState($0.text(1) ?? "")) }
    }

    func fork(_ id: String, fromStage number: Int, as newID: String) async throws -> String?? {
      let rows = try await database.run(
        """
        WITH origin AS (
          SELECT j.name, j.key, j.priority, j.keeps_stages, s.shape, s.stage FROM @.jobs j JOIN @.passed s ON s.id = j.id
          WHERE j.id = $1 AND s.version = $2 AND NOT starts_with(j.name, 'chain ') LIMIT 1
        ), added AS (
          INSERT INTO @.jobs (id, name, key, priority, state, run_at, keeps_stages, first_shape, first, shape, turn)
          SELECT $3, name, key, priority, 'queued', clock_timestamp(), keeps_stages, shape, stage, shape,
            @.turn(name, key, priority) FROM origin
          ON CONFLICT (id) DO NOTHING RETURNING name
        )
        SELECT a.name FROM origin LEFT JOIN added a ON true
        """,
        [.text(id), .integer(Int64(number)), .text(newID)]
      )
      return rows.first.map { $0.text(0) }
    }

    func prune(olderThan age: Duration, states: Set<FleetState>) async throws -> Int {
      let rows = try await database.run(
        """
        WITH gone AS (
          DELETE FROM @.jobs WHERE id IN (
            SELECT id FROM @.jobs
            WHERE finished_at < clock_timestamp() - $1::float8 * interval '1 second' AND state = ANY ($2)
              AND NOT EXISTS (SELECT FROM @.waits w WHERE w.child = jobs.id)
              AND NOT (parent IS NOT NULL AND @.has_open_parent(parent))
            ORDER BY finished_at LIMIT 1000 FOR UPDATE SKIP LOCKED
          ) RETURNING id
        )
        SELECT count(*) FROM gone
        """,
        [.real(age / .seconds(1)), .texts(states.filter(\.isFinal).map(\.description))]
      )
      return Int(rows.first?.integer(0) ?? 0)
    }
  }

  /// Changes by filter.
  extension PostgresStore {
    func count(_ change: FleetChange, to filter: FleetFilter) async throws -> ChangeCounts {
      let matches = filter.condition
      let row = try await database.run(
        """
        SELECT count(*) FILTER (WHERE true), count(*) FILTER (WHERE \(change.condition)),
          NOT EXISTS (SELECT FROM @.jobs WHERE NOT coalesce(\(matches.sql), false)),
          extract(epoch FROM clock_timestamp())::float8
        FROM @.jobs WHERE \(matches.sql)
        """,
        matches.parameters
      ).first
      return ChangeCounts(
        matched: Int(row?.integer(0) ?? 0),
        applicable: Int(row?.integer(1) ?? 0),
        matchesAll: row?.isTrue(2) == true,
        time: row?.real(3) ?? 0
      )
    }

    func ids(
      of change: FleetChange,
      to filter: FleetFilter,
      after last: String,
      enqueuedBy time: Double,
      limit: Int
    ) async throws -> [String] {
      let matches = filter.condition
      let count = matches.parameters.count
      return try await database.run(
        """
        SELECT id FROM @.jobs WHERE \(matches.sql) AND \(change.condition)
          AND id > $\(count + 1) AND created_at <= to_timestamp($\(count + 2)::float8)
        ORDER BY id LIMIT \(limit)
        """,
        matches.parameters + [.text(last), .real(time)]
      ).compactMap { $0.text(0) }
    }

    func hasJob(tagged tag: String) async throws -> Bool {
      let known = "SELECT FROM @.jobs WHERE tags && ARRAY[$1::text] LIMIT 1"
      return try await !database.run(known, [.text(tag)]).isEmpty
    }

    func prioritize(_ ids: [String], _ priority: Int) async throws -> [ChangedName] {
      try await changed(
        """
        WITH changed AS (
          UPDATE @.jobs SET priority = $2 WHERE id = ANY ($1) AND finished_at IS NULL RETURNING name, state = 'queued' AS is_queued
        )
        """,
        [.texts(ids), .integer(Int64(priority))]
      )
    }

    func remove(_ ids: [String]) async throws -> Int {
      let removal = "DELETE FROM @.jobs WHERE id = ANY ($1) AND \(FleetChange.prune.condition) RETURNING id"
      return try await database.run(removal, [.texts(ids)]).count
    }

    /// The first stage of a chain with another identity of its run, and so with other idempotency keys.
    static let withNewIdentity = """
      regexp_replace(first, '^\\{"run":"[^"]*"', '{"run":"' || left(translate(gen_random_uuid()::text, '-', ''), 26) || '"')
      """

    /// Queues failed and cancelled jobs again; those that were undone begin again, with a new identity of 26
    /// digits, and so with other idempotency keys.
    func requeue(_ ids: [String]) async throws -> [ChangedName] {
      let isUndone = "starts_with(name, 'chain ') AND stage IS NOT NULL"
      let common = """
        state = 'queued', run_at = clock_timestamp(), attempt = 0, deaths = 0, error = NULL, cancel_requested = false,
        cancel_reason = NULL, finished_at = NULL, waits_since = NULL, waits_until = NULL, paused_at = NULL
        """
      return try await changed(
        """
        WITH continued AS (
          UPDATE @.jobs SET \(common)
          WHERE id = ANY ($1) AND state IN ('failed', 'cancelled') AND NOT (\(isUndone)) RETURNING name
        ), restarted AS (
          UPDATE @.jobs SET \(common), seq = DEFAULT, version = 1, shape = first_shape, stage = NULL, waits_for = NULL,
            deadlines = NULL, note = NULL, started_at = NULL,
            first = \(Self.withNewIdentity)
          WHERE id = ANY ($1) AND state IN ('failed', 'cancelled') AND \(isUndone) RETURNING name
        ), changed AS (
          SELECT name, true AS is_queued FROM continued UNION ALL SELECT name, true FROM restarted
        )
        """,
        [.texts(ids)]
      )
    }

    /// Runs a change that may put jobs before others.
    ///
    /// A claim that begins at a mark would not see them for a while.
    private func changed(_ statement: String, _ parameters: [PostgresValue]) async throws -> [ChangedName] {
      try await database.run(
        """
        \(statement), set_back AS (
          UPDATE @.marks SET until = '-infinity' WHERE name IN (SELECT name FROM changed)
        )
        SELECT name, count(*), count(*) FILTER (WHERE is_queued) FROM changed GROUP BY name
        """,
        parameters
      ).map { ChangedName(name: $0.text(0) ?? "", count: Int($0.integer(1) ?? 0), queued: Int($0.integer(2) ?? 0)) }
    }
  }

  /// What continues and undoes runs.
  extension PostgresStore {
    func runs(of ids: [String]) async throws -> [StoredRun] {
      try await database.run(
        """
        SELECT id, name, state, stage IS NOT NULL, fence, cancel_requested, error
        FROM @.jobs WHERE id = ANY ($1) ORDER BY id
        """,
        [.texts(ids)]
      ).map { row in
        StoredRun(
          id: row.text(0) ?? "",
          name: row.text(1) ?? "",
          state: FleetState(row.text(2) ?? ""),
          hasStage: row.isTrue(3),
          fence: row.integer(4) ?? 0,
          isCancellationRequested: row.isTrue(5),
          error: row.text(6)
        )
      }
    }

    func `continue`(_ id: String, _ fence: Int64, _ number: Int64, _ entry: [UInt8]) async throws -> String? {
      try await database.run(
        """
        WITH queued AS (
          UPDATE @.jobs SET
            state = 'queued', stage = NULL, attempt = 0, deaths = 0, error = NULL, finished_at = NULL,
            cancel_requested = false, cancel_reason = NULL, run_at = clock_timestamp()
          WHERE id = $1 AND fence = $2 AND state = 'failed' RETURNING id, name
        ), dropped AS (
          DELETE FROM @.entries USING queued WHERE job = queued.id AND number < $3
        ), added AS (
          INSERT INTO @.entries (job, number, entry) SELECT id, $3, $4 FROM queued WHERE length($4::bytea) > 0
        )
        SELECT name FROM queued
        """,
        [.text(id), .integer(fence), .integer(number), .bytes(entry)]
      ).first?.text(0)
    }

    func reopen(_ id: String, _ fence: Int64, _ number: Int64, _ entry: [UInt8], reason: String) async throws -> String?
    {
      try await database.run(
        """
        WITH queued AS (
          UPDATE @.jobs SET
            state = 'queued', stage = NULL, attempt = 0, deaths = 0, error = NULL, finished_at = NULL,
            cancel_requested = true, cancel_reason = $3, run_at = clock_timestamp()
          WHERE id = $1 AND fence = $2 AND state = 'done' RETURNING id, name
        ), dropped AS (
          DELETE FROM @.entries USING queued WHERE job = queued.id AND number < $4
        ), added AS (
          INSERT INTO @.entries (job, number, entry) SELECT id, $4, $5 FROM queued
        )
        SELECT name FROM queued
        """,
        [.text(id), .integer(fence), .text(reason), .integer(number), .bytes(entry)]
      ).first?.text(0)
    }

    func replaceEntries(_ claim: JobClaim, _ number: Int64, _ entry: [UInt8]) async throws -> Bool {
      try await !database.run(
        """
        WITH held AS (
          SELECT id FROM @.jobs WHERE id = $1 AND fence = $2 AND worker = $3 AND starts_with(state, 'running') FOR NO KEY UPDATE
        ), dropped AS (
          DELETE FROM @.entries USING held WHERE job = held.id AND number < $4
        )
        INSERT INTO @.entries AS e (job, number, entry) SELECT id, $4, $5 FROM held
        ON CONFLICT (job, number) DO UPDATE SET entry = e.entry WHERE e.entry = EXCLUDED.entry
        RETURNING number
        """,
        claim.parameters + [.integer(number), .bytes(entry)]
      ).isEmpty
    }
  }
#endif
