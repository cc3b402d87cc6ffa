// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  /// How an attempt ends other than by a save of the last stage.
  struct Ending: Sendable {
    var state: FleetState
    var delay: Duration = .zero
    var error: String?
    var children: [String]?
    /// A Boolean value that indicates whether the attempt does not count.
    var isUncounted = false
  }

  /// What a worker says to the database: each operation is one statement, and may be repeated.
  extension Fleet {
    private var lease: PostgresValue { .real(configuration.leaseDuration / .seconds(1)) }

    /// Begins a lease and returns the worker's number.
    ///
    /// The number is random: a database that was restored, or that lost its last transactions, would issue the numbers of
    /// a sequence again, to workers that then write over each other.
    func registerWorker(within limit: Duration) async throws -> Int64 {
      let worker = Int64.random(in: 1 ... .max)
      try await database.run(
        """
        INSERT INTO @.workers (id, name, started_at, lease_until) OVERRIDING SYSTEM VALUE
        VALUES ($3, $1, clock_timestamp(), clock_timestamp() + $2::float8 * interval '1 second')
        ON CONFLICT (id) DO UPDATE SET lease_until = EXCLUDED.lease_until
        """,
        [.text(configuration.workerName), lease, .integer(worker)],
        within: limit
      )
      return worker
    }

    /// Returns whether the lease was renewed; false when it is over.
    func renewWorker(_ worker: Int64, within limit: Duration) async throws -> Bool {
      let rows = try await database.run(
        """
        UPDATE @.workers SET lease_until = clock_timestamp() + $2::float8 * interval '1 second'
        WHERE id = $1 AND lease_until >= clock_timestamp() RETURNING id
        """,
        [.integer(worker), lease],
        within: limit
      )
      return !rows.isEmpty
    }

    /// Ends a lease; jobs that run under it are freed by the next sweep.
    func removeWorker(_ worker: Int64, within limit: Duration) async throws {
      try await database.run("DELETE FROM @.workers WHERE id = $1", [.integer(worker)], within: limit)
    }

    /// Claims jobs, after those have returned to the queue that the worker claimed and does not know.
    func claim(
      _ count: Int,
      as worker: Int64,
      knowing known: [Int64],
      of types: [FleetRegistration],
      within limit: Duration
    ) async throws -> [ClaimedRow] {
      try await database.once(
        "SELECT * FROM @.claim($1, $2, $3, $4, $5, $6)",
        [
          .integer(worker), .integers(known), .texts(types.map(\.name)), .integers(types.map { Int64($0.version) }),
          .integers(types.map { Int64($0.retry.maxAttempts) }), .integer(Int64(count)),
        ],
        within: limit
      ).map { ClaimedRow($0, worker: worker) }
    }

    /// Returns jobs to the queue that a worker claimed and does not know, because the answer was lost.
    func returnJobs(_ fences: [Int64], of worker: Int64, within limit: Duration) async throws {
      try await database.run(
        """
        UPDATE @.jobs SET
          state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'queued' END,
          finished_at = CASE WHEN cancel_requested THEN clock_timestamp() END,
          worker = NULL, attempt = attempt - 1
        WHERE state = 'running' AND worker = $1 AND fence = ANY ($2)
        """,
        [.integer(worker), .integers(fences)],
        within: limit
      )
    }

    /// Frees what dead workers held and wakes parents whose children have ended; returns how many jobs that were.
    func sweep(within limit: Duration) async throws -> Int {
      Int(try await database.run("SELECT @.sweep()", within: limit).first?.integer(0) ?? 0)
    }

    /// Stores how an attempt ended; returns whether it did so now, and false when the job is not the worker's any more.
    func settle(
      _ ending: Ending,
      id: String,
      fence: Int64,
      worker: Int64,
      within limit: Duration
    ) async throws -> Bool {
      let rows = try await database.run(
        """
        WITH changed AS (
          UPDATE @.jobs SET
            state = CASE WHEN cancel_requested AND $3 <> 'done' THEN 'cancelled' ELSE $3 END,
            run_at = CASE WHEN $3 = 'scheduled' THEN clock_timestamp() + $4::float8 * interval '1 second' ELSE run_at END,
            error = coalesce($5, error), waits_for = $6::text[], worker = NULL,
            attempt = CASE WHEN $7::bigint = 1 THEN attempt - 1 ELSE attempt END,
            finished_at = CASE WHEN cancel_requested OR $3 IN ('done', 'failed', 'cancelled') THEN clock_timestamp() END
          WHERE id = $1 AND fence = $2 AND worker = $9 AND state = 'running'
          RETURNING id, state, watched_until
        )
        SELECT CASE WHEN state = 'queued' THEN pg_notify($8, 'q')::text
          WHEN watched_until > now() THEN pg_notify($8, 's' || id)::text END FROM changed
        """,
        [
          .text(id), .integer(fence), .text(ending.state.description), .real(ending.delay / .seconds(1)),
          ending.error.map { .text($0) } ?? .nullText, .texts(ending.children ?? []),
          .integer(ending.isUncounted ? 1 : 0), .text(configuration.schema), .integer(worker),
        ],
        within: limit
      )
      return !rows.isEmpty
    }
  }
#endif
