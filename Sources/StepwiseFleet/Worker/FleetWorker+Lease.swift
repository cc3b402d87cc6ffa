// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  extension FleetWorker {
    /// Renews the worker's lease until the Task is cancelled.
    func keepLease() async {
      while !Task.isCancelled {
        let now = self.now
        switch state.withLock({ $0.term?.proceed(at: now) }) {
        case nil: await clock.sleepForLease(configuration.leaseDuration / 12)
        case .renew: await renew()
        case .stop: lose()
        case .wait(let end): await clock.sleepForLease(end - now)
        }
      }
    }

    /// Nil for a lease that ends only with the worker: in memory, each renewal would be a step of the test's clock.
    private var leaseDuration: Duration? { clock.isReal ? configuration.leaseDuration : nil }

    private func renew() async {
      guard let worker = state.withLock({ $0.machine.worker }) else { return }
      let requested = now
      do {
        let time = configuration.leaseDuration / 12
        let isRenewed = try await fleet.renewLease(of: worker, within: time)
        state.withLock { state in
          guard state.machine.worker == worker else { return }
          if isRenewed {
            state.term?.renewed(leaseDuration, since: requested)
          } else {
            state.term?.refused()
          }
        }
      } catch {
        report(.heartbeatFailed(error), error)
        let now = self.now
        state.withLock { $0.term?.failed(at: now) }
        await clock.sleepForLease(.milliseconds(100))
      }
    }

    /// Registers the worker, and maintains the fleet's tables, until the Task is cancelled.
    ///
    /// A worker whose lease is over registers again: its jobs of before may run elsewhere.
    func beat() async {
      let poll = min(configuration.pollInterval, configuration.leaseDuration / 3)
      var prunedAt: Duration?
      while !Task.isCancelled {
        if state.withLock({ $0.term == nil }) {
          await register()
          continue
        }
        if prunedAt.map({ now - $0 > .seconds(60) }) ?? true {
          prunedAt = now
          await prune()
        } else {
          await look()
        }
        await fleet.store.waitUntilDue(upTo: poll)
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
          state.term = LeaseTerm(leaseDuration, at: requested)
          state.machine.registered(worker)
        }
        onEvent(.registered(worker: worker))
        attention.raise()
      } catch {
        report(.heartbeatFailed(error), error, isRegistration: true)
        await clock.sleep(for: .milliseconds(500))
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
      for type in registrations.values { try await fleet.store.setLimits(type.limits, of: type.name) }
    }
  }

  /// What a worker says to the store: each operation may be repeated.
  extension Fleet {
    /// Begins a lease and returns the worker's number.
    ///
    /// The number is random: a database that was restored, or that lost its last transactions, would issue the numbers of
    /// a sequence again, to workers that then write over each other.
    func registerWorker(
      knowing names: [String] = [],
      _ versions: [Int64]? = nil,
      within limit: Duration
    ) async throws -> Int64 {
      let worker = NewWorker(
        id: Int64.random(in: 1 ... .max),
        name: configuration.workerName.replacing("\0", with: ""),
        lease: configuration.leaseDuration,
        slots: configuration.slots,
        names: names,
        versions: versions,
        tags: configuration.tags
      )
      try await store.register(worker, within: limit)
      return worker.id
    }

    /// Renews a lease; returns false when it is over.
    func renewLease(of worker: Int64, within limit: Duration) async throws -> Bool {
      try await store.renew(worker, for: configuration.leaseDuration, within: limit)
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
    ) async throws -> [FleetFinding?: [(id: String, fence: Int64)]] {
      let look = WorkerLook(worker: worker, known: known, names: names, signals: signals)
      return try await store.beat(look, within: limit)
    }

    /// Ends a lease; jobs that run under it, and its row, are what a sweep removes.
    func endLease(of worker: Int64, within limit: Duration) async throws {
      try await store.endLease(of: worker, within: limit)
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
      let types = types.map { (name: $0.name, version: $0.version, maxAttempts: $0.retry.maxAttempts) }
      let request = ClaimRequest(worker: worker, known: known, count: count, types: types, tags: configuration.tags)
      return try await store.claim(request, within: limit)
    }

    /// Frees what dead workers held and wakes parents whose children have ended; returns how many jobs that were.
    func sweep(within limit: Duration) async throws -> (freed: Int, woken: Int) {
      try await store.sweep(within: limit)
    }

    /// Writes in one statement, and returns which writes are stored: those of jobs that their workers still have.
    func store<Write: FencedWrite>(_ writes: [Write], within limit: Duration) async throws -> [Bool] {
      let sorted = writes.sorted { $0.claim.id < $1.claim.id }
      let rows = try await store.store(sorted, within: limit)
      store.notify(rows.compactMap(\.watched))
      for (name, jobs) in Dictionary(grouping: rows.compactMap(\.queued), by: \.self) {
        _ = spawn { await self.announce(name, jobs.count) }
      }
      let stored = Set(rows.compactMap(\.fence))
      return writes.map { stored.contains($0.claim.fence) }
    }
  }
#endif
