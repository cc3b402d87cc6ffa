// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// Enqueuing, and what workers take.
  extension MemoryFleet {
    /// Adds jobs, and returns those that were added and whether one is queued.
    mutating func enqueue(_ new: NewJobs, at now: Double) -> (added: [String], isReady: Bool) {
      let (batch, options) = (new.batch, new.options)
      let (isAbsolute, seconds) = options.start.seconds
      let runAt = isAbsolute ? seconds : now + seconds
      let turn = turn(batch.name, options.key, options.priority)
      let parent = new.parent.flatMap { jobs[$0] }
      let isCancelled = parent?.isCancellationRequested ?? false
      var (added, isReady) = ([String](), false)
      for (index, (id, stage)) in zip(batch.ids, batch.stages).enumerated() {
        let old = jobs[id]
        if let old, options.replacing == .nothing || !old.isReplaceable { continue }
        var job = Job(
          id: id,
          name: batch.name,
          runAt: runAt,
          firstShape: batch.shape,
          first: stage,
          shape: batch.shape,
          createdAt: now
        )
        job.seq = nextSeq()
        job.turn = turn + (options.key == nil ? 0 : index)
        (job.key, job.tags, job.priority, job.keepsStages) = (
          options.key, options.tags, options.priority, options.keepsStages
        )
        (job.parent, job.isCancellationRequested, job.cancellationReason) = (
          new.parent, isCancelled, parent?.cancellationReason
        )
        job.state = isCancelled ? .cancelled : runAt > now ? .scheduled : .queued
        job.finishedAt = isCancelled ? now : nil
        if let old {
          job.fence = old.fence
          update(id, at: now) { $0 = job }
        } else {
          insert(job)
        }
        added.append(id)
        if jobs[id]?.state == .queued { isReady = true }
      }
      return (added, isReady)
    }

    /// Returns the turn of the next job of a key.
    func turn(_ name: String, _ key: String?, _ priority: Int) -> Int {
      let queued = jobs.values.filter { $0.state == .queued && $0.name == name && $0.priority == priority }
      let head = queued.min(by: Job.isBefore)?.turn ?? 0
      guard let key, let last = queued.filter({ $0.key == key }).map(\.turn).max() else { return head }
      return max(head, last + 1)
    }

    /// Queues scheduled jobs that are due, of which those with a key that have not run take the turns after their keys' last.
    mutating func queueDue(at now: Double) {
      let due = jobs.values.filter { $0.state == .scheduled && $0.runAt <= now }
        .sorted { ($0.runAt, $0.seq) < ($1.runAt, $1.seq) }
      var turns: [TurnGroup: Int] = [:]
      for job in due {
        var turn = job.turn
        if let key = job.key, job.fence == 0 {
          let group = TurnGroup(name: job.name, key: key, priority: job.priority)
          turn = turns[group] ?? self.turn(job.name, key, job.priority)
          turns[group] = turn + 1
        }
        update(job.id, at: now) { ($0.state, $0.turn) = (.queued, turn) }
      }
    }

    private struct TurnGroup: Hashable {
      let name: String
      let key: String
      let priority: Int
    }

    /// Claims jobs for a worker that has its lease.
    ///
    /// If the worker passes what it knows, its other jobs return to the queue: an answer was lost.
    mutating func claim(_ claim: ClaimRequest, at now: Double) -> [ClaimedRow] {
      guard let worker = workers[claim.worker], !worker.isDead else { return [] }
      if let known = claim.known {
        for job in jobs.values where job.state == .running && job.worker == claim.worker && !known.contains(job.fence) {
          update(job.id, at: now) { job in
            job.state = job.isCancellationRequested ? .cancelled : .queued
            job.finishedAt = job.isCancellationRequested ? now : nil
            job.worker = nil
            job.attempt -= 1
          }
        }
      }
      queueDue(at: now)
      let types = Dictionary(claim.types.map { ($0.name, $0) }) { $1 }
      let queued = jobs.values.filter { job in
        guard let type = types[job.name] else { return false }
        return job.state == .queued && job.shape <= type.version && claim.tags.takes(job.tags)
          && pauses[job.name] == nil
      }.sorted(by: Job.isBefore)
      var chosen: [Job] = []
      var rooms: [String: Room] = [:]
      for job in queued {
        if chosen.count == claim.count { break }
        if let limit = limits[job.name] {
          var room =
            rooms[job.name] ?? Room(limit, jobs.values.filter { $0.state == .running && $0.name == job.name }, now)
          let isAdmitted = room.admit(job)
          rooms[job.name] = room
          if !isAdmitted { continue }
        }
        chosen.append(job)
      }
      for (name, room) in rooms where room.hasAdmitted && limits[name]?.limits.starts != nil {
        limits[name]?.tokens = room.tokens
        limits[name]?.refilledAt = now
        report(.due)
      }
      return chosen.map { job in
        let fence = nextFence()
        update(job.id, at: now) { job in
          (job.state, job.worker, job.fence, job.isParked) = (.running, claim.worker, fence, false)
          job.attempt += 1
          job.maxAttempts = types[job.name]?.maxAttempts ?? 1
          job.waitsFor = []
          if job.unreadCodec != nil { (job.error, job.unreadCodec) = (nil, nil) }
          job.startedAt = job.startedAt ?? now
          job.claimedAt = now
          job.claimedBy = worker.name.isEmpty ? "\(worker.id)" : worker.name
        }
        return ClaimedRow(
          claim: JobClaim(id: job.id, fence: fence, worker: claim.worker),
          name: job.name,
          attempt: job.attempt + 1,
          version: job.version,
          firstShape: job.firstShape,
          first: job.first,
          shape: job.shape,
          stage: job.stage,
          isCancellationRequested: job.isCancellationRequested,
          elapsed: .seconds(now - (job.startedAt ?? now)),
          claimedAt: now
        )
      }
    }

    /// How many jobs of a name its limits admit.
    private struct Room {
      private let limits: FleetLimits
      private var running: Int
      private var runningByKey: [String: Int]
      private(set) var tokens: Double
      private(set) var hasAdmitted = false

      init(_ limit: Limit, _ jobs: [Job], _ now: Double) {
        limits = limit.limits
        running = jobs.count
        runningByKey = Dictionary(grouping: jobs.filter { $0.key != nil }) { $0.key ?? "" }.mapValues(\.count)
        tokens = limit.tokens(at: now)
      }

      /// Takes a place for a job; returns false when there is none.
      mutating func admit(_ job: Job) -> Bool {
        if let limit = limits.running, running >= limit { return false }
        if limits.starts != nil, tokens + 0.001 < 1 { return false }
        if let limit = limits.runningPerKey, let key = job.key {
          guard runningByKey[key, default: 0] < limit else { return false }
          runningByKey[key, default: 0] += 1
        }
        running += 1
        tokens -= 1
        hasAdmitted = true
        return true
      }
    }

    /// Frees what dead workers held, and wakes the parents whose children have all ended.
    ///
    /// From its second death on a job is delayed, so that it does not meet the same other jobs on the next worker. A job that only
    /// waited is not what its worker died of.
    mutating func sweep(at now: Double) -> (freed: Int, woken: Int) {
      let held = jobs.values.filter { job in
        job.state == .running && (job.worker.flatMap { workers[$0] }?.isDead ?? true)
      }
      for job in held {
        let counts = !job.isParked
        update(job.id, at: now) { job in
          let text = "The worker died, or could not reach the server"
          if counts { job.attempted(.lost, "\(text).", now) }
          let isOver = job.attempt >= job.maxAttempts
          job.state =
            job.isCancellationRequested
            ? .cancelled : !counts ? .queued : isOver ? .failed : job.attempt > 1 ? .scheduled : .queued
          if counts, job.attempt > 1 {
            job.runAt = now + 0.5 * Double(min(60, 1 << min(6, job.attempt - 1)))
          }
          job.finishedAt = job.isCancellationRequested || counts && isOver ? now : nil
          if job.isCancellationRequested {
            job.error = nil
          } else if counts {
            job.error = "\(text), during attempt \(job.attempt) of this stage."
          }
          (job.waitsSince, job.waitsUntil, job.worker) = (now, nil, nil)
          if counts { job.deaths += 1 } else { job.attempt -= 1 }
        }
      }
      for worker in workers.values where worker.isDead { workers[worker.id] = nil }
      var parents: Set<String> = []
      for (wait, state) in waits where state == .ended {
        waits[wait] = .seen
        parents.insert(wait.job)
      }
      var woken = 0
      for id in parents.sorted() {
        guard let job = jobs[id], job.state == .waiting || job.state == .scheduled && job.children != nil,
          !waits.contains(where: { $0.key.job == id && $0.value == .open })
        else { continue }
        woken += 1
        update(id, at: now) { job in
          if job.state == .scheduled { job.runAt = now }
          job.state = .queued
        }
      }
      return (held.count, woken)
    }

    /// Returns what a heartbeat finds.
    mutating func beat(_ look: WorkerLook, at now: Double) -> [FleetFinding?: [(id: String, fence: Int64)]] {
      queueDue(at: now)
      var found: [FleetFinding?: [(id: String, fence: Int64)]] = [:]
      for job in jobs.values where job.state == .running && job.worker == look.worker {
        let isKnown = look.known.contains(job.fence)
        guard job.isCancellationRequested || !isKnown else { continue }
        found[isKnown ? .cancelled : .unknown, default: []].append((job.id, job.fence))
      }
      if waits.values.contains(.ended) || workers.values.contains(where: \.isDead) { found[.ends] = [("", 0)] }
      if schedules.values.contains(where: { $0.next <= now }) { found[.ticks] = [("", 0)] }
      let names = Set(look.names).subtracting(pauses.keys)
      if jobs.values.contains(where: { $0.state == .queued && names.contains($0.name) }) { found[.jobs] = [("", 0)] }
      for (id, name) in look.signals {
        guard jobs[id]?.signals.contains(where: { $0.name == name && $0.isOpen }) == true else { continue }
        found[.signalled, default: []].append((id, 0))
      }
      return found
    }

    mutating func setLimits(_ new: FleetLimits, of name: String, at now: Double) {
      guard new.isShared else { return limits[name] = nil }
      let rate = Double(new.starts ?? 0)
      let old = limits[name].flatMap { $0.limits.starts == nil ? nil : $0 }
      limits[name] = Limit(limits: new, tokens: min(old?.tokens ?? rate, rate), refilledAt: old?.refilledAt ?? now)
    }
  }

  extension MemoryFleet.Job {
    /// Whether a new job with the id replaces this one; a dead letter of a chain may have to be undone.
    fileprivate var isReplaceable: Bool { finishedAt != nil && !(state == .failed && stage == nil && isChain) }
  }
#endif
