// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// What is stored of a job.
  extension PostgresStore {
    func statuses(of ids: [String]) async throws -> [FleetStatus] {
      try await database.run("SELECT \(FleetStatus.columns) FROM @.jobs WHERE id = ANY ($1)", [.texts(ids)])
        .map(FleetStatus.init)
    }

    /// A claim skips a row that this holds locked, so that a queued job is to be announced again.
    func watch(_ id: String) async throws -> FleetStatus? {
      try await database.run(
        """
        UPDATE @.jobs SET watched_until = clock_timestamp() + interval '1 minute'
        WHERE id = $1 AND finished_at IS NULL AND (watched_until IS NULL OR watched_until < clock_timestamp() + interval '30 seconds')
        RETURNING \(FleetStatus.briefColumns)
        """,
        [.text(id)]
      ).first.map(FleetStatus.init)
    }

    func end(of id: String) async throws -> (shape: Int, stage: String?, first: String)? {
      let row = try await database.run("SELECT shape, stage, first FROM @.jobs WHERE id = $1", [.text(id)]).first
      return row.map { (Int($0.integer(0) ?? 0), $0.text(1), $0.text(2) ?? "") }
    }

    func stages(of id: String, after version: Int64) async throws -> [(version: Int64, shape: Int, stage: String)] {
      try await database.run(
        """
        SELECT DISTINCT ON (version) version, shape, stage FROM @.passed WHERE id = $1 AND version > $2
        ORDER BY version LIMIT 100
        """,
        [.text(id), .integer(version)]
      ).map { ($0.integer(0) ?? 0, Int($0.integer(1) ?? 0), $0.text(2) ?? "") }
    }

    func ends(of ids: [String]) async throws -> [JobEnd]? {
      let running = "SELECT 1 FROM @.jobs WHERE id = ANY ($1) AND finished_at IS NULL LIMIT 1"
      guard try await database.run(running, [.texts(ids)]).isEmpty else { return nil }
      let rows = try await database.run(
        """
        SELECT id, state, shape, CASE WHEN starts_with(name, 'chain ') THEN stage ELSE coalesce(stage, first) END, error,
          cancel_reason
        FROM @.jobs WHERE id = ANY ($1)
        """,
        [.texts(ids)]
      )
      var ends: [String: JobEnd] = [:]
      for row in rows {
        let (id, state) = (row.text(0) ?? "", FleetState(row.text(1) ?? ""))
        guard state.isFinal else { return nil }
        var end = JobEnd(id: id, state: state.description, shape: Int(row.integer(2) ?? 0))
        // What a job without a result has stored is its own.
        if state == .done || state == .failed { end.stage = row.text(3) }
        if state == .failed { end.error = row.text(4) }
        if state == .cancelled { end.reason = row.text(5) }
        ends[id] = end
      }
      return ids.map { ends[$0] ?? JobEnd(id: $0) }
    }

    func entries(of id: String) async throws -> [StoredEntry] {
      try await database.run(
        "SELECT number, entry, extract(epoch FROM saved_at)::float8 FROM @.entries WHERE job = $1 ORDER BY number",
        [.text(id)]
      ).map { StoredEntry(number: $0.integer(0) ?? 0, entry: $0.bytes(1) ?? [], savedAt: $0.real(2)) }
    }
  }

  /// Overviews.
  extension PostgresStore {
    func jobs(matching filter: FleetFilter, after last: String?, limit: Int) async throws -> [FleetStatus] {
      let condition = filter.condition
      let count = condition.parameters.count
      return try await database.run(
        """
        SELECT \(FleetStatus.columns) FROM @.jobs
        WHERE \(condition.sql) AND id > coalesce($\(count + 1)::text, '') ORDER BY id LIMIT $\(count + 2)
        """,
        condition.parameters + [.text(last), .integer(Int64(limit))]
      ).map(FleetStatus.init)
    }

    func deadLetters(limit: Int) async throws -> [FleetStatus] {
      try await database.run(
        "SELECT \(FleetStatus.columns) FROM @.jobs WHERE state = 'failed' ORDER BY finished_at DESC LIMIT $1",
        [.integer(Int64(limit))]
      ).map(FleetStatus.init)
    }

    func counts() async throws -> [FleetState: Int] {
      let rows = try await database.run("SELECT state, count(*) FROM @.jobs GROUP BY state")
      return Dictionary(rows.map { (FleetState($0.text(0) ?? ""), Int($0.integer(1) ?? 0)) }) { $0 + $1 }
    }

    func names(endedWithin age: Duration?) async throws -> [FleetNameStatus] {
      // A job that waits for a signal may be scheduled for no time.
      let open = FleetState.all.filter { !$0.isFinal }.map { state in
        """
        SELECT name, '\(state)', count(*),
          \(state == .queued ? "extract(epoch FROM clock_timestamp() - min(run_at))::float8" : "NULL")
        FROM @.jobs WHERE state = '\(state)' GROUP BY name
        """
      }
      let rows = try await database.run(
        """
        \(open.joined(separator: " UNION ALL "))
        UNION ALL SELECT name, state, count(*), NULL FROM @.jobs
          WHERE finished_at > CASE WHEN $1::float8 < 0 THEN '-infinity'
            ELSE clock_timestamp() - $1::float8 * interval '1 second' END
          GROUP BY name, state
        UNION ALL SELECT name, 'paused', 1, NULL FROM @.pauses
        UNION ALL SELECT u.name, 'known', count(*), NULL FROM @.workers w, unnest(w.names) AS u(name)
          WHERE w.lease_until >= clock_timestamp() GROUP BY u.name
        """,
        [.real(age.map { max(0, $0 / .seconds(1)) } ?? -1)]
      )
      let names = Dictionary(grouping: rows) { $0.text(0) ?? "" }
      return names.sorted { $0.key < $1.key }.map { name, rows in
        let counts = Dictionary(rows.map { ($0.text(1) ?? "", Int($0.integer(2) ?? 0)) }) { $0 + $1 }
        return FleetNameStatus(
          name: name,
          isPaused: counts["paused"] != nil,
          counts: Dictionary(FleetState.all.compactMap { state in counts["\(state)"].map { (state, $0) } }) { $0 + $1 },
          oldestQueued: rows.lazy.compactMap { $0.real(3) }.first.map { .seconds($0) },
          workerCount: counts["known"] ?? 0
        )
      }
    }

    func workers() async throws -> [FleetWorkerStatus] {
      let rows = try await database.run(
        """
        SELECT w.id, w.name, count(j.id), extract(epoch FROM w.started_at)::float8,
          extract(epoch FROM w.lease_until - clock_timestamp())::float8
        FROM @.workers w LEFT JOIN @.jobs j ON j.worker = w.id AND j.state = 'running'
        WHERE w.lease_until >= clock_timestamp() GROUP BY w.id ORDER BY w.started_at, w.id
        """
      )
      return rows.map { row in
        FleetWorkerStatus(
          id: row.integer(0) ?? 0,
          name: row.text(1) ?? "",
          runningCount: Int(row.integer(2) ?? 0),
          registeredAt: row.date(3) ?? .distantPast,
          leaseRemaining: .seconds(max(0, row.real(4) ?? 0))
        )
      }
    }

    func activity(within age: Duration, per period: Duration, named name: String?) async throws -> [FleetActivity] {
      let time = "WITHIN GROUP (ORDER BY extract(epoch FROM finished_at - started_at)::float8)"
      let rows = try await database.run(
        """
        SELECT floor(extract(epoch FROM finished_at)::float8 / $2::float8) * $2::float8,
          count(*) FILTER (WHERE state = 'done'), count(*) FILTER (WHERE state = 'failed'),
          percentile_disc(0.5) \(time), percentile_disc(0.99) \(time)
        FROM @.jobs
        WHERE finished_at > clock_timestamp() - $1::float8 * interval '1 second' AND state IN ('done', 'failed')
          AND ($3::text IS NULL OR name = $3)
        GROUP BY 1 ORDER BY 1
        """,
        [.real(age / .seconds(1)), .real(max(1, period / .seconds(1))), .text(name)]
      )
      return rows.map { row in
        FleetActivity(
          start: row.date(0) ?? .distantPast,
          doneCount: Int(row.integer(1) ?? 0),
          failedCount: Int(row.integer(2) ?? 0),
          median: row.real(3).map { .seconds($0) },
          percentile99: row.real(4).map { .seconds($0) }
        )
      }
    }

    func history(of id: String) async throws -> [FleetStageRecord] {
      let rows = try await database.run(
        """
        SELECT DISTINCT ON (version) version, extract(epoch FROM saved_at)::float8, stage FROM @.passed WHERE id = $1
        ORDER BY version, saved_at
        """,
        [.text(id)]
      )
      return rows.map {
        FleetStageRecord(number: Int($0.integer(0) ?? 0), savedAt: $0.date(1) ?? .distantPast, json: $0.text(2) ?? "")
      }
    }

    func attempts(of id: String) async throws -> [FleetAttempt] {
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

    func errors(limit: Int) async throws -> [FleetErrorGroup] {
      try await database.run(
        """
        SELECT min(line), name, count(*), extract(epoch FROM max(finished_at))::float8, min(id)
        FROM (
          SELECT id, name, finished_at, left(split_part(coalesce(error, ''), chr(10), 1), 300) AS line
          FROM @.jobs WHERE state = 'failed'
        ) AS f
        GROUP BY name, \(FleetFilter.normalized("line")) ORDER BY count(*) DESC, name, 1 LIMIT $1
        """,
        [.integer(Int64(limit))]
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
  }

  extension FleetStatus {
    /// Of a row of the table `jobs`.
    static let columns = columns(wait: "@.why(jobs)::text")

    /// Without why the job does not run, which takes some lookups.
    static let briefColumns = columns(wait: "NULL")

    private static func columns(wait: String) -> String {
      """
      id, name, state, attempt, version, worker, error, cancel_requested, cancel_reason,
      EXISTS (SELECT FROM @.pauses p WHERE p.name = jobs.name), priority, key, parent,
      extract(epoch FROM created_at)::float8,
      extract(epoch FROM CASE WHEN paused_at IS NULL OR state <> 'scheduled' THEN run_at ELSE paused_run_at END)::float8,
      extract(epoch FROM started_at)::float8, extract(epoch FROM finished_at)::float8,
      state IN ('failed', 'cancelled'),
      state IN ('failed', 'cancelled') AND starts_with(name, 'chain ') AND stage IS NOT NULL,
      extract(epoch FROM paused_at)::float8, \(wait), note, array_to_string(tags, ','),
      \(FleetChange.isCancellable)
      """
    }

    init(_ row: PostgresRow) {
      id = row.text(0) ?? ""
      progression = row.text(1) ?? ""
      state = FleetState(row.text(2) ?? "")
      attempt = Int(row.integer(3) ?? 0)
      stageCount = Int(row.integer(4) ?? 0)
      worker = row.integer(5)
      error = row.text(6)
      isCancellationRequested = row.isTrue(7)
      cancellationReason = row.text(8)
      isPaused = row.isTrue(9)
      priority = Int(row.integer(10) ?? 0)
      key = row.text(11)
      parent = row.text(12)
      enqueuedAt = row.date(13) ?? .distantPast
      dueAt = row.date(14)
      startedAt = row.date(15)
      endedAt = row.date(16)
      isRequeueable = row.isTrue(17)
      isUndone = row.isTrue(18)
      isCancellable = row.isTrue(23)
      pausedAt = row.date(19)
      wait = FleetWait(json: row.text(20))
      note = row.text(21)
      tags = (row.text(22) ?? "").split(separator: ",").map(String.init)
    }
  }
#endif
