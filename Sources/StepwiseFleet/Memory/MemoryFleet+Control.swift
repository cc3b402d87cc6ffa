// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import StepwiseCheckpoints

  /// What operators and programs change.
  extension MemoryFleet {
    /// Cancels jobs and their children, and returns how many of the jobs it has changed.
    mutating func cancel(_ ids: [String], reason: String?, at now: Double) -> Int {
      var (level, known, count) = (Set(ids), Set<String>(), 0)
      while !level.isEmpty {
        level = level.filter { jobs[$0]?.isCancellable ?? false }
        for id in level.sorted() {
          update(id, at: now) { job in
            let isRunning = job.state == .running
            job.cancellationReason = job.cancellationReason ?? reason
            if !isRunning { job.state = .cancelled }
            job.finishedAt = isRunning ? nil : now
            job.isCancellationRequested = true
          }
          if jobs[id]?.state == .running { report(.cancelled(id)) }
          if ids.contains(id) { count += 1 }
        }
        known.formUnion(level)
        level = Set(jobs.values.filter { $0.finishedAt == nil && level.contains($0.parent ?? "") }.map(\.id))
          .subtracting(known)
      }
      return count
    }

    mutating func pause(_ name: String, at now: Double) -> Bool {
      guard pauses[name] == nil else { return false }
      pauses[name] = now
      return true
    }

    mutating func resume(_ name: String) -> Bool {
      report(.jobs)
      return pauses.removeValue(forKey: name) != nil
    }

    mutating func pauseJob(_ id: String, at now: Double) -> Bool {
      guard let job = jobs[id], job.finishedAt == nil, job.pausedAt == nil, !job.isCancellationRequested else {
        return false
      }
      update(id, at: now) { $0.pausedAt = now }
      return true
    }

    mutating func resumeJob(_ id: String, at now: Double) -> (name: String, state: FleetState)? {
      guard let job = jobs[id], job.finishedAt == nil, job.pausedAt != nil else { return nil }
      update(id, at: now) { job in
        job.pausedAt = nil
        guard job.state == .scheduled, job.runAt == Self.never else { return }
        if job.pausedRunAt <= now { job.state = .queued }
        job.runAt = job.pausedRunAt
      }
      return (job.name, jobs[id]?.state ?? job.state)
    }

    mutating func fork(_ id: String, fromStage number: Int, as newID: String, at now: Double) -> String?? {
      guard let job = jobs[id], !job.isChain, let stage = job.passed.first(where: { $0.version == number }) else {
        return nil
      }
      guard jobs[newID] == nil else { return .some(nil) }
      var fork = Job(
        id: newID,
        name: job.name,
        runAt: now,
        firstShape: stage.shape,
        first: stage.stage,
        shape: stage.shape,
        createdAt: now
      )
      (fork.seq, fork.turn) = (nextSeq(), turn(job.name, job.key, job.priority))
      (fork.key, fork.priority, fork.keepsStages) = (job.key, job.priority, job.keepsStages)
      insert(fork)
      return job.name
    }

    /// Whether a job that has ended can be removed: no other one waits for it, and its parents have ended.
    private func isRemovable(_ job: Job) -> Bool {
      guard job.finishedAt != nil, !waits.keys.contains(where: { $0.child == job.id }) else { return false }
      var (parent, known) = (job.parent.flatMap { jobs[$0] }, Set<String>())
      while let next = parent, known.insert(next.id).inserted {
        if next.finishedAt == nil { return false }
        parent = next.parent.flatMap { jobs[$0] }
      }
      return true
    }

    mutating func prune(olderThan age: Duration, states: Set<FleetState>, at now: Double) -> Int {
      let end = now - age / .seconds(1)
      let old = jobs.values.filter { job in
        states.contains(job.state) && (job.finishedAt ?? .infinity) <= end && isRemovable(job)
      }.sorted { ($0.finishedAt ?? 0) < ($1.finishedAt ?? 0) }.prefix(1_000)
      for job in old { delete(job.id) }
      return old.count
    }

    /// Whether a change applies to a job.
    func applies(_ change: FleetChange, to job: Job) -> Bool {
      switch change {
      case .retry: job.state == .failed || job.state == .cancelled
      case .cancel: job.isCancellable
      case .reprioritize: job.finishedAt == nil
      case .prune: isRemovable(job)
      }
    }

    func count(_ change: FleetChange, to filter: FleetFilter, at now: Double) -> ChangeCounts {
      let matched = jobs.values.filter { filter.matches($0, at: now) }
      return ChangeCounts(
        matched: matched.count,
        applicable: matched.count { applies(change, to: $0) },
        matchesAll: matched.count == jobs.count,
        time: now
      )
    }

    func ids(
      of change: FleetChange,
      to filter: FleetFilter,
      after last: String,
      enqueuedBy time: Double,
      limit: Int,
      at now: Double
    ) -> [String] {
      let found = jobs.values.filter { job in
        filter.matches(job, at: now) && applies(change, to: job) && job.createdAt <= time
          && Self.isOrdered(last, job.id)
      }
      return Array(found.map(\.id).sorted(by: Self.isOrdered).prefix(limit))
    }

    /// The order of ids, by their bytes.
    static func isOrdered(_ one: String, _ other: String) -> Bool { one.utf8.lexicographicallyPrecedes(other.utf8) }

    /// Queues failed and cancelled jobs again; those that were undone begin again, with a new identity.
    mutating func requeue(_ ids: [String], at now: Double) -> [ChangedName] {
      var names: [String: Int] = [:]
      for id in ids {
        guard let job = jobs[id], job.state == .failed || job.state == .cancelled else { continue }
        let isUndone = job.isChain && job.stage != nil
        let seq = isUndone ? nextSeq() : job.seq
        update(id, at: now) { job in
          (job.state, job.runAt, job.attempt, job.deaths, job.error) = (.queued, now, 0, 0, nil)
          (job.isCancellationRequested, job.cancellationReason, job.finishedAt) = (false, nil, nil)
          (job.waitsSince, job.waitsUntil, job.pausedAt) = (nil, nil, nil)
          guard isUndone else { return }
          job.forget(seq)
          (job.version, job.shape, job.stage, job.waitsFor) = (1, job.firstShape, nil, [])
          (job.deadlines, job.note, job.startedAt) = ((0, [:]), nil, nil)
          job.first = HostedStart.renewed(job.first)
        }
        names[job.name, default: 0] += 1
      }
      return names.map { ChangedName(name: $0.key, count: $0.value, queued: $0.value) }
    }

    mutating func prioritize(_ ids: [String], _ priority: Int) -> [ChangedName] {
      var names: [String: (count: Int, queued: Int)] = [:]
      for id in ids {
        guard let job = jobs[id], job.finishedAt == nil else { continue }
        note(id) { $0.priority = priority }
        names[job.name, default: (0, 0)].count += 1
        if job.state == .queued { names[job.name]?.queued += 1 }
      }
      return names.map { ChangedName(name: $0.key, count: $0.value.count, queued: $0.value.queued) }
    }

    mutating func remove(_ ids: [String]) -> Int {
      let removable = ids.filter { jobs[$0].map(isRemovable) ?? false }
      for id in removable { delete(id) }
      return removable.count
    }

    func runs(of ids: [String]) -> [StoredRun] {
      Set(ids).sorted().compactMap { jobs[$0] }.map { job in
        StoredRun(
          id: job.id,
          name: job.name,
          state: job.state,
          hasStage: job.stage != nil,
          fence: job.fence,
          isCancellationRequested: job.isCancellationRequested,
          error: job.error
        )
      }
    }

    /// Queues a job that has ended with an entry in place of its own, and cancels one that is to be undone.
    mutating func restart(
      _ id: String,
      _ fence: Int64,
      from state: FleetState,
      _ number: Int64,
      _ entry: [UInt8],
      cancelledFor reason: String? = nil,
      at now: Double
    ) -> String? {
      guard let job = jobs[id], job.fence == fence, job.state == state else { return nil }
      update(id, at: now) { job in
        (job.state, job.stage, job.attempt, job.deaths, job.error) = (.queued, nil, 0, 0, nil)
        (job.finishedAt, job.runAt) = (nil, now)
        (job.isCancellationRequested, job.cancellationReason) = (reason != nil, reason)
        job.entries = entry.isEmpty ? [] : [StoredEntry(number: number, entry: entry, savedAt: now)]
      }
      return job.name
    }

    // Schedules.

    mutating func add(_ new: NewSchedule) {
      let old = schedules[new.name]
      let isSame = old?.new.cron == new.cron && old?.new.zone == new.zone
      schedules[new.name] = Schedule(new: new, next: isSame ? old?.next ?? new.next : new.next)
      report(.due)
    }

    mutating func tick(_ name: String, at time: Double, next: Double, now: Double) -> String? {
      guard let schedule = schedules[name], schedule.next == time else { return nil }
      schedules[name]?.next = next
      report(.due)
      let id = "\(name)@\(Self.text(of: time))"
      guard jobs[id] == nil else { return nil }
      insert(id, of: schedule, due: time, at: now)
      return schedule.new.job.batch.name
    }

    mutating func runSchedule(_ name: String, at now: Double) -> (id: String, progression: String)? {
      guard let schedule = schedules[name] else { return nil }
      let id = "\(name)@\(Self.text(of: now, withMicroseconds: true))"
      insert(id, of: schedule, due: now, at: now)
      return (id, schedule.new.job.batch.name)
    }

    /// Adds a job of a schedule: each run of a chain has an identity of its own.
    private mutating func insert(_ id: String, of schedule: Schedule, due: Double, at now: Double) {
      let (batch, options) = (schedule.new.job.batch, schedule.new.job.options)
      var job = Job(
        id: id,
        name: batch.name,
        runAt: due,
        firstShape: batch.shape,
        first: batch.stages[0],
        shape: batch.shape,
        createdAt: now
      )
      if job.isChain { job.first = HostedStart.renewed(job.first) }
      (job.seq, job.turn) = (nextSeq(), turn(batch.name, options.key, options.priority))
      (job.key, job.tags, job.priority, job.keepsStages) = (
        options.key, options.tags, options.priority, options.keepsStages
      )
      insert(job)
    }
  }
#endif
