// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  /// What a worker says to the database: each operation is one statement, and may be repeated.
  extension Fleet {
    private var lease: PostgresValue { .real(configuration.leaseDuration / .seconds(1)) }

    /// Begins a lease and returns the worker's number.
    ///
    /// The number is random: a database that was restored, or that lost its last transactions, would issue the numbers of
    /// a sequence again, to workers that then write over each other.
    func registerWorker(knowing names: [String] = [], within limit: Duration) async throws -> Int64 {
      let worker = Int64.random(in: 1 ... .max)
      try await database.run(
        """
        INSERT INTO @.workers (id, name, started_at, lease_until, names, slots) OVERRIDING SYSTEM VALUE
        VALUES ($3, $1, clock_timestamp(), clock_timestamp() + $2::float8 * interval '1 second', $4, $5)
        ON CONFLICT (id) DO UPDATE SET lease_until = EXCLUDED.lease_until
        """,
        [
          .text(configuration.workerName), lease, .integer(worker), .texts(names), .integer(Int64(configuration.slots)),
        ],
        within: limit
      )
      return worker
    }

    /// What a heartbeat finds.
    struct Beat {
      /// Jobs of the worker whose cancellation was requested.
      var cancelled: [String] = []
      /// Jobs of the worker for which the signal has come that they wait for.
      var signalled: [String] = []
      /// Fencing numbers that the worker does not know.
      var unknown: [Int64] = []
      var isRenewed = false
      var hasJobs = false
      var hasToSweep = false
      var hasTicks = false
    }

    /// Renews the lease if requested, and finds what no notification reported.
    ///
    /// That is jobs, requested cancellations, claims whose answer was lost, children that
    /// ended, workers that died, ticks of schedules. The names are those of which the worker could start a job.
    func beat(
      _ worker: Int64,
      renewing: Bool,
      knowing known: [Int64] = [],
      of names: [String] = [],
      awaiting signals: [(id: String, name: String)] = [],
      parked: Int = 0,
      within limit: Duration
    ) async throws -> Beat {
      let rows = try await database.run(
        """
        WITH renewed AS (
          UPDATE @.workers SET lease_until = clock_timestamp() + $2::float8 * interval '1 second', slots = $8
          WHERE id = $1 AND $3::bigint = 1 AND lease_until >= clock_timestamp() RETURNING id
        )
        SELECT CASE WHEN fence = ANY ($4) THEN 0 ELSE 3 END, id, fence FROM @.jobs
        WHERE worker = $1 AND state = 'running' AND (cancel_requested OR fence NOT IN (SELECT unnest($4)))
        UNION ALL (SELECT 1, NULL, NULL FROM @.waits WHERE state = 1 LIMIT 1)
        UNION ALL (SELECT 1, NULL, NULL FROM @.workers WHERE lease_until < clock_timestamp() LIMIT 1)
        UNION ALL (SELECT 2, NULL, NULL FROM @.schedules WHERE next_at <= clock_timestamp() LIMIT 1)
        UNION ALL (
          SELECT 4, NULL, NULL FROM unnest($5::text[]) AS u(name)
            LEFT JOIN @.marks k ON k.name = u.name AND k.until > clock_timestamp(),
            LATERAL (
              SELECT FROM @.jobs b WHERE b.state = 'queued' AND b.name = u.name
                AND (~ b.priority, b.run_at, b.seq)
                  >= (coalesce(k.rank, -9223372036854775808), coalesce(k.run_at, '-infinity'), coalesce(k.seq, 0))
              LIMIT 1
            ) AS q
          WHERE NOT EXISTS (SELECT FROM @.pauses p WHERE p.name = u.name) LIMIT 1
        )
        UNION ALL (
          SELECT 4, NULL, NULL FROM @.jobs WHERE state = 'scheduled' AND run_at <= clock_timestamp() AND $5 <> '{}' LIMIT 1
        )
        UNION ALL SELECT 5, NULL, NULL FROM renewed
        UNION ALL SELECT 6, w.id, NULL FROM unnest($6::text[], $7::text[]) AS w(id, name)
          WHERE EXISTS (SELECT FROM @.signals s WHERE s.job = w.id AND s.name = w.name AND NOT s.is_taken)
        """,
        [
          .integer(worker), lease, .integer(renewing ? 1 : 0), .integers(known), .texts(names),
          .texts(signals.map(\.id)), .texts(signals.map(\.name)),
          // Jobs that wait here are running jobs to the database, and take no slot.
          .integer(Int64(configuration.slots + parked)),
        ],
        within: limit
      )
      var beat = Beat()
      for row in rows {
        switch row.integer(0) {
        case 0: if let id = row.text(1) { beat.cancelled.append(id) }
        case 1: beat.hasToSweep = true
        case 2: beat.hasTicks = true
        case 3: if let fence = row.integer(2) { beat.unknown.append(fence) }
        case 4: beat.hasJobs = true
        case 6: if let id = row.text(1) { beat.signalled.append(id) }
        default: beat.isRenewed = true
        }
      }
      return beat
    }

    /// Ends a lease; jobs that run under it, and its row, are what a sweep removes.
    func endLease(of worker: Int64, within limit: Duration) async throws {
      let end = "UPDATE @.workers SET lease_until = '-infinity' WHERE id = $1"
      try await database.run(end, [.integer(worker)], within: limit)
      _ = try await sweep(within: limit)
    }

    /// Claims jobs; if the known fencing numbers are passed, after all others of the worker have returned to the queue.
    func claim(
      _ count: Int,
      as worker: Int64,
      knowing known: [Int64]?,
      of types: [FleetRegistration],
      within limit: Duration
    ) async throws -> [ClaimedRow] {
      try await database.once(
        "SELECT * FROM @.claim($1, $2, $3, $4, $5, $6)",
        [
          .integer(worker), known.map { .integers($0) } ?? .nullIntegers, .texts(types.map(\.name)),
          .integers(types.map { Int64($0.version) }),
          .integers(types.map { Int64($0.retry.maxAttempts) }), .integer(Int64(count)),
        ],
        within: limit
      ).map { ClaimedRow($0, worker: worker) }
    }

    /// Frees what dead workers held and wakes parents whose children have ended; returns how many jobs that were.
    func sweep(within limit: Duration) async throws -> (freed: Int, woken: Int) {
      let row = try await database.run("SELECT o_freed, o_woken FROM @.free()", within: limit).first
      return (Int(row?.integer(0) ?? 0), Int(row?.integer(1) ?? 0))
    }

    /// Stores how an attempt ended, in one statement with those that end while a statement is under way.
    ///
    /// - Returns: Whether it did so now; false when the job is not the worker's any more.
    func settle(_ attempt: EndedAttempt, within limit: Duration) async throws -> Bool {
      try await settler.add(attempt) { attempts in
        let rows = try await self.settle(attempts.sorted { $0.id < $1.id }, within: limit)
        self.database.notify(rows.compactMap { $0.text(2) })
        for (name, jobs) in Dictionary(grouping: rows.compactMap { $0.text(1) }, by: \.self) {
          _ = spawn { await self.announce(name, jobs.count) }
        }
        let stored = Set(rows.compactMap { $0.integer(0) })
        return attempts.map { stored.contains($0.fence) }
      }
    }

    private func settle(_ attempts: [EndedAttempt], within limit: Duration) async throws -> [PostgresRow] {
      let endings = attempts.map(\.ending)
      return try await database.run(
        """
        WITH input AS (
          SELECT * FROM unnest(
            $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[], $9::text[],
            $10::text[]
          ) AS i(id, fence, worker, state, delay, error, waits_for, is_uncounted, outcome, wait_end)
        ), changed AS (
          UPDATE @.jobs j SET
            state = CASE WHEN j.cancel_requested AND i.state <> 'done' AND NOT starts_with(j.name, 'chain ') THEN 'cancelled'
              WHEN j.cancel_requested AND i.wait_end IS NOT NULL THEN 'queued' ELSE i.state END,
            run_at = CASE WHEN j.cancel_requested AND i.wait_end IS NOT NULL THEN clock_timestamp()
              WHEN i.wait_end IS NOT NULL THEN to_timestamp(i.wait_end::float8)
              WHEN i.state = 'scheduled' THEN clock_timestamp() + i.delay::float8 * interval '1 second' ELSE j.run_at END,
            error = coalesce(i.error, j.error), waits_for = i.waits_for::text[], worker = NULL,
            attempt = CASE WHEN i.is_uncounted THEN j.attempt - 1 ELSE j.attempt END,
            finished_at = CASE WHEN i.state IN ('done', 'failed', 'cancelled')
              OR j.cancel_requested AND NOT starts_with(j.name, 'chain ') THEN clock_timestamp() END,
            stage = coalesce(i.outcome, j.stage)
          FROM input i WHERE j.id = i.id AND j.fence = i.fence AND j.worker = i.worker AND j.state = 'running'
          RETURNING j.id, j.fence, j.name, j.state, j.watched_until > now() AS is_watched, j.keeps_stages, i.outcome
        ), gone AS (
          DELETE FROM @.entries e USING changed c WHERE c.outcome IS NOT NULL AND NOT c.keeps_stages AND e.job = c.id
        )
        SELECT fence, CASE WHEN state = 'queued' THEN name END, CASE WHEN is_watched THEN id END FROM changed
        """,
        [
          .texts(attempts.map(\.id)), .integers(attempts.map(\.fence)), .integers(attempts.map(\.worker)),
          .texts(endings.map(\.state.description)), .texts(endings.map { "\($0.delay / .seconds(1))" }),
          .texts(endings.map(\.error)), .texts(endings.map { PostgresValue.texts($0.waitsFor ?? []).literal }),
          .flags(endings.map(\.isUncounted)), .texts(endings.map(\.outcome)),
          .texts(endings.map { $0.end.map { "\($0)" } }),
        ],
        within: limit
      )
    }
  }
#endif
