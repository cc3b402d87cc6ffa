// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  extension FleetWorker {
    /// Renews the worker's lease until the Task is cancelled, on threads on which no stage runs.
    func keepLease() async {
      while !Task.isCancelled {
        let now = self.now
        switch state.withLock({ $0.term?.proceed(at: now) }) {
        case nil: await LeaseThreads.sleep(for: configuration.leaseDuration / 12)
        case .renew: await renew()
        case .stop: lose()
        case .wait(let end): await LeaseThreads.sleep(for: end - now)
        }
      }
    }

    private func renew() async {
      guard let worker = state.withLock({ $0.machine.worker }) else { return }
      let requested = now
      do {
        let time = configuration.leaseDuration / 12
        let isRenewed = try await fleet.renewLease(of: worker, within: time)
        state.withLock { state in
          guard state.machine.worker == worker else { return }
          if isRenewed {
            state.term?.renewed(configuration.leaseDuration, since: requested)
          } else {
            state.term?.refused()
          }
        }
      } catch {
        report(.heartbeatFailed(error), error)
        let now = self.now
        state.withLock { $0.term?.failed(at: now) }
        await LeaseThreads.sleep(for: .milliseconds(100))
      }
    }

    /// Registers the worker, and maintains the fleet's tables, until the Task is cancelled.
    ///
    /// A worker whose lease is over registers again: its jobs of before may run elsewhere.
    func beat() async {
      let poll = min(configuration.pollInterval, configuration.leaseDuration / 3)
      var prunedAt = ContinuousClock.now - .seconds(120)
      while !Task.isCancelled {
        if state.withLock({ $0.term == nil }) {
          await register()
          continue
        }
        if prunedAt.duration(to: .now) > .seconds(60) {
          prunedAt = .now
          await prune()
        } else {
          await look()
        }
        try? await Task.sleep(for: poll)
      }
    }

    /// Sweeps what has no row of a worker to tell of it, and removes what is old.
    private func prune() async {
      do {
        try await sweep()
        guard let age = configuration.retention else { return }
        let count = try await fleet.prune(olderThan: age)
        if count > 0 { onEvent(.pruned(jobCount: count)) }
      } catch {
        report(.heartbeatFailed(error), error)
      }
    }

    private func register() async {
      let requested = now
      do {
        let types = registrations.values.sorted { $0.name < $1.name }
        let versions = types.map { Int64($0.version) }
        let worker = try await fleet.registerWorker(knowing: types.map(\.name), versions, within: limit)
        state.withLock { state in
          state.term = LeaseTerm(configuration.leaseDuration, at: requested)
          state.machine.registered(worker)
        }
        onEvent(.registered(worker: worker))
        attention.raise()
      } catch {
        report(.heartbeatFailed(error), error, isRegistration: true)
        try? await Task.sleep(for: .milliseconds(500))
      }
    }

    /// Looks for what no notification reported.
    private func look() async {
      let (machine, jobs) = state.withLock { ($0.machine, $0.jobs.values) }
      guard let worker = machine.worker else { return }
      let awaited = jobs.flatMap { job in job.awaitedSignals.map { (id: job.row.id, name: $0) } }
      do {
        let names = machine.claimable()?.count ?? 0 > 0 ? Array(registrations.keys) : []
        let time = configuration.leaseDuration / 12
        let found = try await fleet.beat(worker, knowing: machine.known, of: names, awaiting: awaited, within: time)
        state.withLock { $0.machine.found(found[.unknown, default: []].map(\.fence)) }
        for job in found[.cancelled, default: []] { cancel(job.id) }
        for job in found[.signalled, default: []] { fleet.hub.deliver(to: job.id) }
        if found[.ends] != nil { try await sweep() }
        if found[.ticks] != nil { try await fleet.tick() }
        if found[.jobs] != nil || found[.unknown] != nil { attention.raise() }
      } catch {
        report(.heartbeatFailed(error), error)
      }
    }

    func lose() {
      let fences = state.withLock { state in
        state.term = nil
        return state.machine.lost()
      }
      onEvent(.leaseLost(ids: state.withLock { state in fences.compactMap { state.jobs[$0]?.row.id } }))
      cancel(fences)
      admit()
    }

    func unregister() async throws {
      guard let worker = state.withLock({ $0.machine.worker }) else { return }
      // No attempt at what the database still has for this worker has failed: an answer was lost, or a write was refused.
      _ = try? await fleet.claim(0, as: worker, knowing: [], of: [], within: limit)
      try await fleet.endLease(of: worker, within: limit)
    }

    /// Stores the limits of the registered types.
    func declareLimits() async throws {
      for type in registrations.values {
        let limits = type.limits
        if !limits.isShared {
          try await fleet.database.run("DELETE FROM @.limits WHERE name = $1", [.text(type.name)])
          continue
        }
        try await fleet.database.run(
          """
          INSERT INTO @.limits AS l (name, running, running_per_key, rate, period, tokens, refilled_at)
          VALUES ($1, $2, $3, $4, $5, $4, clock_timestamp())
          ON CONFLICT (name) DO UPDATE SET running = EXCLUDED.running, running_per_key = EXCLUDED.running_per_key,
            rate = EXCLUDED.rate, period = EXCLUDED.period, tokens = least(coalesce(l.tokens, EXCLUDED.rate), EXCLUDED.rate),
            refilled_at = coalesce(l.refilled_at, EXCLUDED.refilled_at)
          """,
          [
            .text(type.name), .integer(limits.running.map { Int64($0) }),
            .integer(limits.runningPerKey.map { Int64($0) }), .integer(limits.starts.map { Int64($0) }),
            .real(max(0.001, limits.period / .seconds(1))),
          ]
        )
      }
    }
  }

  /// What a worker says to the database: each operation is one statement, and may be repeated.
  extension Fleet {
    private var lease: PostgresValue { .real(configuration.leaseDuration / .seconds(1)) }

    /// Begins a lease and returns the worker's number.
    ///
    /// The number is random: a database that was restored, or that lost its last transactions, would issue the numbers of
    /// a sequence again, to workers that then write over each other.
    func registerWorker(
      knowing names: [String] = [],
      _ versions: [Int64]? = nil,
      within limit: Duration
    ) async throws -> Int64 {
      let worker = Int64.random(in: 1 ... .max)
      try await database.run(
        """
        INSERT INTO @.workers (id, name, started_at, lease_until, names, slots, shapes, tags_only, tags_except)
        VALUES ($3, $1, clock_timestamp(), clock_timestamp() + $2::float8 * interval '1 second', $4, $5, $6, $7, $8)
        ON CONFLICT (id) DO UPDATE SET lease_until = EXCLUDED.lease_until, renewed_at = clock_timestamp()
        """,
        [
          .text(configuration.workerName.replacing("\0", with: "")), lease, .integer(worker), .texts(names),
          .integer(Int64(configuration.slots)), .integers(versions), .tags(configuration.tags.only),
          .tags(configuration.tags.except),
        ],
        within: limit
      )
      return worker
    }

    /// What a heartbeat finds that no notification reported.
    enum Finding: String {
      /// Cancellation was requested of a job of the worker.
      case cancelled
      /// The signal has come that a job of the worker waits for.
      case signalled
      /// The worker does not know a fencing number, as the answer to its claim was lost.
      case unknown
      /// There may be jobs to claim.
      case jobs
      /// Workers have died, or children have ended.
      case ends
      /// Schedules are due.
      case ticks
    }

    /// Renews a lease; returns false when it is over.
    func renewLease(of worker: Int64, within limit: Duration) async throws -> Bool {
      let renewed = try await database.renew(
        """
        UPDATE @.workers
        SET lease_until = clock_timestamp() + $2::float8 * interval '1 second', renewed_at = clock_timestamp()
        WHERE id = $1 AND lease_until >= clock_timestamp() RETURNING id
        """,
        [.integer(worker), lease],
        within: limit
      )
      return !renewed.isEmpty
    }

    /// Returns what it finds, with the ids of jobs and their fencing numbers.
    ///
    /// The names are those of which the worker could start a job.
    func beat(
      _ worker: Int64,
      knowing known: [Int64] = [],
      of names: [String] = [],
      awaiting signals: [(id: String, name: String)] = [],
      within limit: Duration
    ) async throws -> [Finding?: [(id: String, fence: Int64)]] {
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
          .integer(worker), .integers(known), .texts(names), .texts(signals.map(\.id)), .texts(signals.map(\.name)),
        ],
        within: limit
      )
      return Dictionary(grouping: rows) { Finding(rawValue: $0.text(0) ?? "") }
        .mapValues { rows in rows.map { ($0.text(1) ?? "", $0.integer(2) ?? 0) } }
    }

    /// Ends a lease; jobs that run under it, and its row, are what a sweep removes.
    func endLease(of worker: Int64, within limit: Duration) async throws {
      let end = "UPDATE @.workers SET lease_until = '-infinity' WHERE id = $1"
      try await database.run(end, [.integer(worker)], within: limit)
      _ = try await sweep(within: limit)
    }

    /// Claims jobs that have the tags of the configuration; if the known fencing numbers are passed, after all others of
    /// the worker have returned to the queue.
    func claim(
      _ count: Int,
      as worker: Int64,
      knowing known: [Int64]?,
      of types: [FleetRegistration],
      within limit: Duration
    ) async throws -> [ClaimedRow] {
      let (tags, values) = configuration.tags.claimed
      return try await database.run(
        "SELECT * FROM @.\(tags.function)($1, $2, $3, $4, $5, $6\(values.isEmpty ? "" : ", $7"))",
        [
          .integer(worker), .integers(known), .texts(types.map(\.name)),
          .integers(types.map { Int64($0.version) }),
          .integers(types.map { Int64($0.retry.maxAttempts) }), .integer(Int64(count)),
        ] + values,
        within: limit,
        attempts: 1
      ).map { ClaimedRow($0, worker: worker) }
    }

    /// Frees what dead workers held and wakes parents whose children have ended; returns how many jobs that were.
    func sweep(within limit: Duration) async throws -> (freed: Int, woken: Int) {
      let row = try await database.run("SELECT o_freed, o_woken FROM @.free()", within: limit).first
      return (Int(row?.integer(0) ?? 0), Int(row?.integer(1) ?? 0))
    }

    /// Writes in one statement, and returns which writes are stored: those of jobs that their workers still have.
    func store<Write: FencedWrite>(_ writes: [Write], within limit: Duration) async throws -> [Bool] {
      let sorted = writes.sorted { $0.claim.id < $1.claim.id }
      let claims = sorted.map(\.claim)
      let rows = try await database.run(
        Write.call,
        [.texts(claims.map(\.id)), .integers(claims.map(\.fence)), .integers(claims.map(\.worker))]
          + Write.parameters(sorted),
        within: limit
      )
      database.notify(rows.compactMap { $0.text(1) })
      for (name, jobs) in Dictionary(grouping: rows.compactMap { $0.text(2) }, by: \.self) {
        _ = spawn { await self.announce(name, jobs.count) }
      }
      let stored = Set(rows.compactMap { $0.integer(0) })
      return writes.map { stored.contains($0.claim.fence) }
    }
  }
#endif
