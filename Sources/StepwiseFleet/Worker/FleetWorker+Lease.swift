// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  extension FleetWorker {
    /// Registers the worker, renews its lease and maintains the fleet's tables, until the Task is cancelled.
    ///
    /// A worker whose lease is over registers again: its jobs of before may run elsewhere.
    func beat() async {
      let poll = min(configuration.pollInterval, configuration.leaseDuration / 3)
      var prunedAt = ContinuousClock.now - .seconds(120)
      while !Task.isCancelled {
        let now = self.now
        switch state.withLock({ $0.term?.proceed(at: now) }) {
        case nil: await register()
        case .renew: if await beat(renewing: true) { try? await Task.sleep(for: poll) }
        case .stop: lose()
        case .rest, .wait:
          if prunedAt.duration(to: .now) > .seconds(60) {
            prunedAt = .now
            await prune()
          } else {
            await beat(renewing: false)
          }
          try? await Task.sleep(for: poll)
        }
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
        let worker = try await fleet.registerWorker(knowing: registrations.keys.sorted(), within: limit)
        state.withLock { state in
          state.term = LeaseTerm(configuration.leaseDuration, at: requested)
          state.machine.registered(worker)
        }
        onEvent(.registered(worker: worker))
        attention.raise()
      } catch {
        report(.heartbeatFailed(error), error)
        try? await Task.sleep(for: .milliseconds(500))
      }
    }

    /// Returns false if the lease was to be renewed and was not.
    @discardableResult
    private func beat(renewing: Bool) async -> Bool {
      let (machine, jobs) = state.withLock { ($0.machine, $0.jobs.values) }
      guard let worker = machine.worker else { return false }
      let awaited = jobs.flatMap { job in job.awaitedSignals.map { (id: job.row.id, name: $0) } }
      let requested = now
      do {
        let names = machine.claimable()?.count ?? 0 > 0 ? Array(registrations.keys) : []
        let time = configuration.leaseDuration / 12
        let found = try await fleet.beat(
          worker,
          renewing: renewing,
          knowing: machine.known,
          of: names,
          awaiting: awaited,
          parked: machine.parkedCount,
          within: time
        )
        let isRenewed = found[.renewed] != nil
        state.withLock { state in
          if renewing, isRenewed { state.term?.renewed(configuration.leaseDuration, since: requested) }
          if renewing, !isRenewed { state.term?.refused() }
          state.machine.found(found[.unknown, default: []].map(\.fence))
        }
        for job in found[.cancelled, default: []] { cancel(job.id) }
        for job in found[.signalled, default: []] { fleet.hub.deliver(to: job.id) }
        if found[.ends] != nil { try await sweep() }
        if found[.ticks] != nil { try await fleet.tick() }
        if found[.jobs] != nil || found[.unknown] != nil { attention.raise() }
        return isRenewed || !renewing
      } catch {
        report(.heartbeatFailed(error), error)
        guard renewing else { return true }
        let now = self.now
        state.withLock { $0.term?.failed(at: now) }
        try? await Task.sleep(for: .milliseconds(100))
        return false
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
#endif
