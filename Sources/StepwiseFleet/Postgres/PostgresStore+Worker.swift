// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  /// What a worker says to the database: each operation is one statement, and may be repeated.
  extension PostgresStore {
    func setLimits(_ limits: FleetLimits, of name: String) async throws {
      if !limits.isShared {
        try await database.run("DELETE FROM @.limits WHERE name = $1", [.text(name)])
        return
      }
      try await database.run(
        """
        INSERT INTO @.limits AS l (name, running, running_per_key, rate, period, tokens, refilled_at)
        VALUES ($1, $2, $3, $4, $5, $4, clock_timestamp())
        ON CONFLICT (name) DO UPDATE SET running = EXCLUDED.running, running_per_key = EXCLUDED.running_per_key,
          rate = EXCLUDED.rate, period = EXCLUDED.period, tokens = least(coalesce(l.tokens, EXCLUDED.rate), EXCLUDED.rate),
          refilled_at = coalesce(l.refilled_at, EXCLUDED.refilled_at)
        """,
        [
          .text(name), .integer(limits.running.map { Int64($0) }),
          .integer(limits.runningPerKey.map { Int64($0) }), .integer(limits.starts.map { Int64($0) }),
          .real(max(0.001, limits.period / .seconds(1))),
        ]
      )
    }

    func register(_ worker: NewWorker, within limit: Duration) async throws {
      try await database.run(
        """
        INSERT INTO @.workers (id, name, started_at, lease_until, names, slots, shapes, tags_only, tags_except)
        VALUES ($3, $1, clock_timestamp(), clock_timestamp() + $2::float8 * interval '1 second', $4, $5, $6, $7, $8)
        ON CONFLICT (id) DO UPDATE SET lease_until = EXCLUDED.lease_until, renewed_at = clock_timestamp()
        """,
        [
          .text(worker.name), .real(worker.lease / .seconds(1)), .integer(worker.id), .texts(worker.names),
          .integer(Int64(worker.slots)), .integers(worker.versions), .tags(worker.tags.only),
          .tags(worker.tags.except),
        ],
        within: limit
      )
    }

    func renew(_ worker: Int64, for lease: Duration, within limit: Duration) async throws -> Bool {
      let renewed = try await database.renew(
        """
        UPDATE @.workers
        SET lease_until = clock_timestamp() + $2::float8 * interval '1 second', renewed_at = clock_timestamp()
        WHERE id = $1 AND lease_until >= clock_timestamp() RETURNING id
        """,
        [.integer(worker), .real(lease / .seconds(1))],
        within: limit
      )
      return !renewed.isEmpty
    }

    func beat(_ look: WorkerLook, within limit: Duration) async throws -> [FleetFinding?: [(id: String, fence: Int64)]]
    {
      let rows = try await database.run(
        """
        SELECT CASE WHEN fence = ANY ($2) THEN 'cancelled' ELSE 'unknown' END, id, fence FROM @.jobs
        WHERE worker = $1 AND state = 'running' AND (cancel_requested OR fence NOT IN (SELECT unnest($2)))
        UNION ALL (SELECT 'ends', NULL, NULL FROM @.waits WHERE state = 1 LIMIT 1)
        UNION ALL (SELECT 'ends', NULL, NULL FROM @.workers WHERE lease_until < clock_timestamp() LIMIT 1)
        UNION ALL (SELECT 'ticks', NULL, NULL FROM @.schedules WHERE next_at <= clock_timestamp() LIMIT 1)
        UNION ALL (
          SELECT 'jobs', NULL, NULL FROM unnest($3::text[]) AS u(name)
            LEFT JOIN @.marks k ON k.name = u.name AND k.until > clock_timestamp(),
            LATERAL (
              SELECT FROM @.jobs b WHERE b.state = 'queued' AND b.name = u.name
                AND (~ b.priority, b.turn, b.run_at, b.seq)
                  >= (coalesce(k.rank, -9223372036854775808), coalesce(k.turn, 0), coalesce(k.run_at, '-infinity'), coalesce(k.seq, 0))
              LIMIT 1
            ) AS q
          WHERE NOT EXISTS (SELECT FROM @.pauses p WHERE p.name = u.name) LIMIT 1
        )
        UNION ALL (
          SELECT 'jobs', NULL, NULL FROM @.jobs WHERE state = 'scheduled' AND run_at <= clock_timestamp() AND $3 <> '{}' LIMIT 1
        )
        UNION ALL SELECT 'signalled', w.id, NULL FROM unnest($4::text[], $5::text[]) AS w(id, name)
          WHERE EXISTS (SELECT FROM @.signals s WHERE s.job = w.id AND s.name = w.name AND NOT s.is_taken AND s.refusal IS NULL)
        """,
        [
          .integer(look.worker), .integers(look.known), .texts(look.names), .texts(look.signals.map(\.id)),
          .texts(look.signals.map(\.name)),
        ],
        within: limit
      )
      return Dictionary(grouping: rows) { FleetFinding(rawValue: $0.text(0) ?? "") }
        .mapValues { rows in rows.map { ($0.text(1) ?? "", $0.integer(2) ?? 0) } }
    }

    func endLease(of worker: Int64, within limit: Duration) async throws {
      let end = "UPDATE @.workers SET lease_until = '-infinity' WHERE id = $1"
      try await database.run(end, [.integer(worker)], within: limit)
    }

    func claim(_ claim: ClaimRequest, within limit: Duration) async throws -> [ClaimedRow] {
      let (tags, values) = claim.tags.claimed
      return try await database.run(
        "SELECT * FROM @.\(tags.function)($1, $2, $3, $4, $5, $6\(values.isEmpty ? "" : ", $7"))",
        [
          .integer(claim.worker), .integers(claim.known), .texts(claim.types.map(\.name)),
          .integers(claim.types.map { Int64($0.version) }),
          .integers(claim.types.map { Int64($0.maxAttempts) }), .integer(Int64(claim.count)),
        ] + values,
        within: limit,
        attempts: 1
      ).map { ClaimedRow($0, worker: claim.worker) }
    }

    func sweep(within limit: Duration) async throws -> (freed: Int, woken: Int) {
      let row = try await database.run("SELECT o_freed, o_woken FROM @.free()", within: limit).first
      return (Int(row?.integer(0) ?? 0), Int(row?.integer(1) ?? 0))
    }

    func store<Write: FencedWrite>(_ writes: [Write], within limit: Duration) async throws -> [WriteAnswer] {
      let claims = writes.map(\.claim)
      return try await database.run(
        Write.call,
        [.texts(claims.map(\.id)), .integers(claims.map(\.fence)), .integers(claims.map(\.worker))]
          + Write.parameters(writes),
        within: limit
      ).map { WriteAnswer(fence: $0.integer(0), watched: $0.text(1), queued: $0.text(2)) }
    }
  }

  /// A job that a worker runs.
  extension PostgresStore {
    func cancellationReason(of id: String) async throws -> String? {
      try await database.run("SELECT cancel_reason FROM @.jobs WHERE id = $1", [.text(id)]).first?.text(0)
    }

    func attempt(of id: String) async throws -> Int? {
      let row = try await database.run("SELECT attempt FROM @.jobs WHERE id = $1", [.text(id)]).first
      return row?.integer(0).map { Int($0) }
    }

    func setNote(_ text: String?, of claim: JobClaim) async throws -> Bool {
      let rows = try await database.run(
        """
        UPDATE @.jobs SET note = $4 WHERE id = $1 AND fence = $2 AND worker = $3 AND starts_with(state, 'running') RETURNING id
        """,
        claim.parameters + [.text(text)]
      )
      return !rows.isEmpty
    }

    func deadline(_ name: String, after duration: Duration, of claim: JobClaim) async throws -> (
      end: Double, rest: Double
    )? {
      let row = try await database.run(
        """
        UPDATE @.jobs SET deadlines =
          CASE WHEN deadlines ->> 'stage' = version::text THEN deadlines ELSE jsonb_build_object('stage', version) END
          || jsonb_build_object($4::text, CASE WHEN deadlines ->> 'stage' = version::text AND deadlines ? $4
            THEN (deadlines ->> $4)::float8 ELSE extract(epoch FROM clock_timestamp())::float8 + $5 END)
        WHERE id = $1 AND fence = $2 AND worker = $3 AND starts_with(state, 'running')
        RETURNING (deadlines ->> $4)::float8, (deadlines ->> $4)::float8 - extract(epoch FROM clock_timestamp())::float8
        """,
        claim.parameters + [.text("." + name), .real(max(0, duration / .seconds(1)))]
      ).first
      guard let end = row?.real(0), let rest = row?.real(1) else { return nil }
      return (end, rest)
    }

    func signals(
      of id: String,
      _ names: [String],
      limit: Int,
      except taken: [Int64]
    ) async throws -> [(number: Int, name: String, value: [UInt8])] {
      try await database.run(
        """
        SELECT number, name, value FROM @.signals
        WHERE job = $1 AND name = ANY ($2) AND NOT is_taken AND number <> ALL ($3) ORDER BY number LIMIT $4
        """,
        [.text(id), .texts(names), .integers(taken), .integer(Int64(limit))]
      ).map { (number: Int($0.integer(0) ?? 0), name: $0.text(1) ?? "", value: Array(($0.text(2) ?? "").utf8)) }
    }

    func refuse(_ signal: Int64, of id: String, _ reason: String) async throws {
      let refusal = "UPDATE @.signals SET refusal = $3 WHERE job = $1 AND number = $2 AND NOT is_taken"
      try await database.run(refusal, [.text(id), .integer(signal), .text(reason)])
    }
  }

  extension ClaimedRow {
    init(_ row: PostgresRow, worker: Int64) {
      claim = JobClaim(id: row.text(0) ?? "", fence: row.integer(2) ?? 0, worker: worker)
      name = row.text(1) ?? ""
      attempt = Int(row.integer(3) ?? 1)
      version = row.integer(4) ?? 1
      firstShape = Int(row.integer(5) ?? 0)
      first = row.text(6) ?? ""
      shape = Int(row.integer(7) ?? 0)
      stage = row.text(8)
      isCancellationRequested = row.isTrue(9)
      elapsed = .seconds(max(0, row.real(10) ?? 0))
      claimedAt = row.real(11) ?? 0
    }
  }
#endif
