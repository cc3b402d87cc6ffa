// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import StepwiseCheckpoints

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// What is stored of jobs.
  extension MemoryFleet {
    /// The jobs, in the order of their ids.
    var ordered: [Job] { jobs.values.sorted { Self.isOrdered($0.id, $1.id) } }

    func status(of job: Job, at now: Double, isBrief: Bool = false) -> FleetStatus {
      let isRequeueable = job.state == .failed || job.state == .cancelled
      let dueAt = job.pausedAt == nil || job.state != .scheduled ? job.runAt : job.pausedRunAt
      return FleetStatus(
        id: job.id,
        progression: job.name,
        state: job.state,
        isPaused: pauses[job.name] != nil,
        attempt: job.attempt,
        stageCount: Int(job.version),
        worker: job.worker,
        error: job.error,
        note: job.note,
        isCancellationRequested: job.isCancellationRequested,
        cancellationReason: job.cancellationReason,
        priority: job.priority,
        key: job.key,
        tags: job.tags.sorted(),
        parent: job.parent,
        enqueuedAt: Date(timeIntervalSince1970: job.createdAt),
        dueAt: dueAt.isFinite ? Date(timeIntervalSince1970: dueAt) : nil,
        startedAt: job.startedAt.map { Date(timeIntervalSince1970: $0) },
        endedAt: job.finishedAt.map { Date(timeIntervalSince1970: $0) },
        isRequeueable: isRequeueable,
        isCancellable: job.isCancellable,
        isUndone: isRequeueable && job.isChain && job.stage != nil,
        wait: isBrief ? nil : wait(of: job, at: now),
        pausedAt: job.pausedAt.map { Date(timeIntervalSince1970: $0) }
      )
    }

    func ends(of ids: [String]) -> [JobEnd]? {
      guard !ids.contains(where: { jobs[$0].map { $0.finishedAt == nil } ?? false }) else { return nil }
      return ids.map { id in
        guard let job = jobs[id] else { return JobEnd(id: id) }
        var end = JobEnd(id: id, state: job.state.description, shape: job.shape)
        // What a job without a result has stored is its own.
        if job.state == .done || job.state == .failed { end.stage = job.isChain ? job.stage : job.stage ?? job.first }
        if job.state == .failed { end.error = job.error }
        if job.state == .cancelled { end.reason = job.cancellationReason }
        return end
      }
    }

    /// Why a job does not run; nil for one that runs or has ended.
    private func wait(of job: Job, at now: Double) -> FleetWait? {
      if job.finishedAt != nil || job.state == .running && !job.isParked { return nil }
      let due = max(job.runAt.isFinite ? job.runAt : 0, job.createdAt, job.waitsSince ?? 0)
      func wait(
        _ reason: FleetWait.Reason,
        _ details: [String] = [],
        since: Double?,
        until: Double? = nil,
        children: (count: Int, open: Int)? = nil
      ) -> FleetWait {
        FleetWait(
          reason: reason,
          details: details,
          childCount: children?.count,
          openChildCount: children?.open,
          since: Date(timeIntervalSince1970: since ?? due),
          until: until.flatMap { $0.isFinite ? Date(timeIntervalSince1970: $0) : nil }
        )
      }
      let isPaused = job.pausedAt != nil && !job.isCancellationRequested
      if job.state == .running {
        let reason = job.parkedFor.isEmpty ? FleetWait.Reason.sleep : .signal
        return wait(reason, job.parkedFor, since: job.waitsSince, until: job.waitsUntil)
      }
      let isWaitingForChildren =
        job.state == .scheduled && job.children != nil && job.waitsFor.isEmpty && job.runAt > now && !isPaused
      if job.state == .waiting || isWaitingForChildren {
        let open = waits.filter { $0.key.job == job.id && $0.value == .open && $0.key.child != job.id }.map(\.key.child)
        let children = job.state == .waiting ? job.waitsFor : job.children ?? []
        return wait(
          .children,
          Array(open.sorted(by: Self.isOrdered).prefix(10)),
          since: job.waitsSince ?? job.runAt,
          until: job.waitsUntil,
          children: (children.count, open.count)
        )
      }
      if job.state == .scheduled, isPaused { return wait(.jobPause, since: job.pausedAt) }
      if job.state == .scheduled, job.runAt > now {
        let since = job.waitsSince ?? job.createdAt
        if let codec = job.unreadCodec { return wait(.codec, [codec], since: since, until: job.runAt) }
        if !job.waitsFor.isEmpty { return wait(.signal, job.waitsFor, since: since, until: job.runAt) }
        let reason = job.waitsUntil != nil ? FleetWait.Reason.sleep : job.attempt > 0 ? .retry : .start
        return wait(reason, since: since, until: job.runAt)
      }
      if let pausedAt = pauses[job.name] { return wait(.pause, since: max(due, pausedAt)) }
      let workers = workers.values.filter { !$0.isDead && $0.names[job.name] != nil }
      if workers.isEmpty { return wait(.type, since: due) }
      let known = workers.filter { $0.names[job.name] ?? 0 >= job.shape }
      if known.isEmpty { return wait(.version, ["\(job.shape)"], since: due) }
      guard known.contains(where: { $0.tags.takes(job.tags) }) else { return wait(.tag, job.tags.sorted(), since: due) }
      let running = jobs.values.filter { $0.state == .running && $0.name == job.name }
      if let limit = limits[job.name] {
        if let most = limit.limits.running, running.count >= most {
          return wait(.limit, ["\(running.count) run, of \(most) at most"], since: due)
        }
        if let most = limit.limits.runningPerKey, let key = job.key {
          let count = running.count { $0.key == key }
          if count >= most { return wait(.limit, ["\(count) with the key \(key) run, of \(most) at most"], since: due) }
        }
        if let rate = limit.limits.starts {
          let until = limit.refilledAt + (1 - limit.tokens) * limit.period / Double(rate)
          if until > now {
            return wait(.limit, ["\(rate) start in \(limit.period) s at most"], since: due, until: until)
          }
        }
      }
      let takers = workers.filter { $0.tags.takes(job.tags) }
      let ids = Set(takers.map(\.id))
      let taken = jobs.values.count { $0.state == .running && !$0.isParked && ids.contains($0.worker ?? 0) }
      return wait(.slot, ["\(taken) of \(takers.reduce(0) { $0 + $1.slots }) are taken"], since: due)
    }
  }

  extension MemoryFleet.Job {
    /// The stages that are stored: the first, those that it keeps, and the last.
    var passed: [MemoryFleet.Stage] {
      var passed = [MemoryFleet.Stage(version: 1, shape: firstShape, stage: first, savedAt: createdAt)] + stages
      if version > 1, let stage, passed.last?.version != version {
        let savedAt = finishedAt ?? startedAt ?? createdAt
        passed.append(MemoryFleet.Stage(version: version, shape: shape, stage: stage, savedAt: savedAt))
      }
      return passed
    }
  }

  extension FleetFilter {
    func matches(_ job: MemoryFleet.Job, at now: Double) -> Bool {
      func holds<Value>(_ value: Value?, _ condition: (Value) -> Bool) -> Bool { value.map(condition) ?? true }
      return (states.isEmpty || states.contains(job.state))
        && holds(name) { $0 == job.name }
        && holds(key) { $0 == job.key }
        && holds(tag) { job.tags.contains($0) }
        && holds(error) { error in
          job.error.map { Self.withoutNumbers($0).contains(Self.withoutNumbers(error)) } ?? false
        }
        && holds(text) { text in [job.id, job.key ?? "", job.error ?? ""].contains { $0.contains(text) } }
        && holds(age) { (job.finishedAt ?? job.createdAt) <= now - $0 / .seconds(1) }
    }

    /// An error with the same digit for all numbers.
    static func withoutNumbers(_ error: String) -> String { error.replacing(/[0-9]+/, with: "0") }
  }

  /// Overviews.
  extension MemoryFleet {
    func names(endedWithin age: Duration?, at now: Double) -> [FleetNameStatus] {
      let start = age.map { now - max(0, $0 / .seconds(1)) } ?? -.infinity
      let counted = jobs.values.filter { $0.finishedAt.map { $0 > start } ?? true }
      let alive = workers.values.filter { !$0.isDead }
      let names = Set(counted.map(\.name)).union(pauses.keys).union(alive.flatMap(\.names.keys))
      return names.sorted().map { name in
        let jobs = counted.filter { $0.name == name }
        let oldest = jobs.filter { $0.state == .queued }.map(\.runAt).min()
        return FleetNameStatus(
          name: name,
          isPaused: pauses[name] != nil,
          counts: Dictionary(grouping: jobs, by: \.state).mapValues(\.count),
          oldestQueued: oldest.map { .seconds(now - $0) },
          workerCount: alive.count { $0.names[name] != nil }
        )
      }
    }

    func activity(within age: Duration, per period: Duration, named name: String?, at now: Double) -> [FleetActivity] {
      let (start, length) = (now - age / .seconds(1), max(1, period / .seconds(1)))
      let ended = jobs.values.filter { job in
        (job.finishedAt ?? -.infinity) > start && [.done, .failed].contains(job.state) && (name ?? job.name) == job.name
      }
      let periods = Dictionary(grouping: ended) { (($0.finishedAt ?? 0) / length).rounded(.down) * length }
      return periods.sorted { $0.key < $1.key }.map { start, jobs in
        let times = jobs.compactMap { job in job.startedAt.map { (job.finishedAt ?? $0) - $0 } }.sorted()
        /// The first time that a part of them does not exceed.
        func percentile(_ part: Double) -> Duration? {
          times.isEmpty ? nil : .seconds(times[max(0, Int((part * Double(times.count)).rounded(.up)) - 1)])
        }
        return FleetActivity(
          start: Date(timeIntervalSince1970: start),
          doneCount: jobs.count { $0.state == .done },
          failedCount: jobs.count { $0.state == .failed },
          median: percentile(0.5),
          percentile99: percentile(0.99)
        )
      }
    }

    func errors(limit: Int) -> [FleetErrorGroup] {
      struct Group: Hashable {
        let name: String
        let error: String
      }
      let failed = jobs.values.filter { $0.state == .failed }.map { job in
        let line = job.error?.split(separator: "\n", omittingEmptySubsequences: false).first ?? ""
        return (job: job, line: String(line.prefix(300)))
      }
      let groups = Dictionary(grouping: failed) {
        Group(name: $0.job.name, error: FleetFilter.withoutNumbers($0.line))
      }
      return groups.map { group, failures in
        FleetErrorGroup(
          error: failures.map(\.line).min() ?? "",
          name: group.name,
          count: failures.count,
          lastFailedAt: Date(timeIntervalSince1970: failures.compactMap(\.job.finishedAt).max() ?? 0),
          exampleID: failures.map(\.job.id).min(by: Self.isOrdered) ?? ""
        )
      }
      .sorted { ($1.count, $0.name, $0.error) < ($0.count, $1.name, $1.error) }
      .prefix(limit).map(\.self)
    }

    func attempts(of id: String) -> [FleetAttempt] {
      guard let job = jobs[id] else { return [] }
      var attempts = job.attempts
      if job.state == .running || job.state == .done, let claimedAt = job.claimedAt {
        attempts.append(
          FleetAttempt(
            stage: Int(job.version),
            number: max(1, job.attempt),
            worker: job.claimedBy,
            startedAt: Date(timeIntervalSince1970: claimedAt),
            endedAt: job.finishedAt.map { Date(timeIntervalSince1970: $0) },
            outcome: job.state.description,
            error: nil
          )
        )
      }
      return attempts.sorted { $0.startedAt < $1.startedAt }
    }

    func workerStatuses() -> [FleetWorkerStatus] {
      workers.values.filter { !$0.isDead }.sorted { ($0.startedAt, $0.id) < ($1.startedAt, $1.id) }.map { worker in
        FleetWorkerStatus(
          id: worker.id,
          name: worker.name,
          runningCount: jobs.values.count { $0.state == .running && $0.worker == worker.id },
          registeredAt: Date(timeIntervalSince1970: worker.startedAt),
          leaseRemaining: .seconds(1 << 31)
        )
      }
    }
  }

  /// The times of schedules.
  extension MemoryFleet {
    /// Returns the first time of a schedule after another one; see ``FleetStore/next(of:in:after:)``.
    ///
    /// A wildcard schedule follows the time that passes: its next three hours are looked at minute by minute.
    static func next(of cron: CronExpression, in zone: TimeZone, after time: Double) -> Int64? {
      let start = Int64((time / 60).rounded(.down)) * 60
      var wall = start
      for minute in 0...(cron.isWildcard ? Int64(180) : 0) {
        let time = start + minute * 60
        wall = time + offset(of: zone, at: time)
        if minute > 0, cron.matches(wall: wall) { return time }
      }
      return cron.next(after: wall).map { self.time(of: $0, in: zone, isFirst: cron.isWildcard) }
    }

    private static func offset(of zone: TimeZone, at time: Int64) -> Int64 {
      Int64(zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(time))))
    }

    /// Returns the time at which the clock on the wall shows another one; of two, the first or the second.
    ///
    /// A time that the clock leaves out is an hour later.
    private static func time(of wall: Int64, in zone: TimeZone, isFirst: Bool) -> Int64 {
      let offsets = [wall - 86_400, wall + 86_400].map { offset(of: zone, at: $0) }
      let times = offsets.map { wall - $0 }.filter { $0 + offset(of: zone, at: $0) == wall }
      return (isFirst ? times.min() : times.max()) ?? wall - offsets[0]
    }

    /// A time as it is in the id of a tick.
    static func text(of time: Double, withMicroseconds: Bool = false) -> String {
      let seconds = time.rounded(.down)
      let text = Date(timeIntervalSince1970: seconds).formatted(.iso8601)
      guard withMicroseconds else { return text }
      let digits = String(1_000_000 + Int(((time - seconds) * 1_000_000).rounded())).dropFirst()
      return "\(text.dropLast()).\(digits)Z"
    }
  }
#endif
