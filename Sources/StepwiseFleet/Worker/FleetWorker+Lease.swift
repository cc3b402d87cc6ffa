// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  extension FleetWorker {
    /// Registers the worker, renews its lease and looks after the fleet's tables, until the Task is cancelled.
    ///
    /// A worker whose lease is over registers again: its jobs of before may run elsewhere.
    func beat() async {
      let poll = min(configuration.pollInterval, configuration.leaseDuration / 3)
      while !Task.isCancelled {
        let now = self.now
        switch state.withLock({ $0.term?.proceed(at: now) }) {
        case nil: await register()
        case .renew: await renew()
        case .stop: lose()
        case .rest, .wait:
          do { try await lookAround() } catch { report(.heartbeatFailed(error), error) }
          await heartbeatAttention.wait(upTo: poll)
        }
      }
    }

    private func register() async {
      let requested = now
      do {
        let worker = try await fleet.registerWorker(within: limit)
        state.withLock { state in
          state.term = LeaseTerm(configuration.leaseDuration, at: requested)
          state.machine.registered(worker)
        }
        leaseLasts.value.withLock { $0 = true }
        attention.raise()
      } catch {
        report(.heartbeatFailed(error), error)
        await heartbeatAttention.wait(upTo: .milliseconds(500))
      }
    }

    private func renew() async {
      guard let worker = state.withLock({ $0.machine.worker }) else { return }
      let requested = now
      do {
        let isRenewed = try await fleet.renewWorker(worker, within: configuration.leaseDuration / 12)
        state.withLock { state in
          if isRenewed {
            state.term?.renewed(configuration.leaseDuration, since: requested)
          } else {
            state.term?.refused()
          }
        }
        try await sweep()
      } catch {
        report(.heartbeatFailed(error), error)
        let now = self.now
        state.withLock { $0.term?.failed(at: now) }
        await heartbeatAttention.wait(upTo: .milliseconds(100))
      }
    }

    private func lose() {
      leaseLasts.value.withLock { $0 = false }
      let fences = state.withLock { state in
        state.term = nil
        return state.machine.lost()
      }
      cancel(fences)
    }

    /// Finds what no notification told of: requested cancellations, claims whose answer was lost, children that ended,
    /// ticks of schedules.
    private func lookAround() async throws {
      let machine = state.withLock { $0.machine }
      guard let worker = machine.worker else { return }
      let rows = try await database.run(
        """
        SELECT CASE WHEN fence = ANY ($2) THEN 0 ELSE 3 END, id, fence FROM @.jobs
        WHERE worker = $1 AND state = 'running' AND (cancel_requested OR fence <> ALL ($2))
        UNION ALL (SELECT 1, NULL, NULL FROM @.waits WHERE state = 1 LIMIT 1)
        UNION ALL (SELECT 2, NULL, NULL FROM @.schedules WHERE next_at <= clock_timestamp() LIMIT 1)
        """,
        [.integer(worker), .integers(machine.known)],
        within: configuration.leaseDuration / 12
      )
      for row in rows where row.integer(0) == 0 { if let id = row.text(1) { cancel(id) } }
      let unknown = rows.filter { $0.integer(0) == 3 }.compactMap { $0.integer(2) }
      let lost = state.withLock { $0.machine.lost(among: unknown, since: machine.claimEvents) }
      if !lost.isEmpty {
        try await fleet.returnJobs(lost, of: worker, within: limit)
        attention.raise()
      }
      if rows.contains(where: { $0.integer(0) == 1 }) { try await sweep() }
      if rows.contains(where: { $0.integer(0) == 2 }) { try await fleet.tick() }
    }

    func unregister() async throws {
      guard let worker = state.withLock({ $0.machine.worker }) else { return }
      try await fleet.removeWorker(worker, within: limit)
    }

    /// Stores the limits of the registered types.
    func declareLimits() async throws {
      for type in registrations.values {
        let limits = type.limits
        if limits == .none {
          try await database.run("DELETE FROM @.limits WHERE name = $1", [.text(type.name)])
          continue
        }
        let rate = limits.starts.map { PostgresValue.integer(Int64($0)) } ?? .nullInteger
        try await database.run(
          """
          INSERT INTO @.limits AS l (name, running, running_per_key, rate, period, tokens, refilled_at)
          VALUES ($1, $2, $3, $4, $5, $4, clock_timestamp())
          ON CONFLICT (name) DO UPDATE SET running = EXCLUDED.running, running_per_key = EXCLUDED.running_per_key,
            rate = EXCLUDED.rate, period = EXCLUDED.period, tokens = least(coalesce(l.tokens, EXCLUDED.rate), EXCLUDED.rate),
            refilled_at = coalesce(l.refilled_at, EXCLUDED.refilled_at)
          """,
          [
            .text(type.name), limits.running.map { .integer(Int64($0)) } ?? .nullInteger,
            limits.runningPerKey.map { .integer(Int64($0)) } ?? .nullInteger, rate,
            .real(max(0.001, limits.period / .seconds(1))),
          ]
        )
      }
    }
  }
#endif
