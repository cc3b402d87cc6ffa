// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// What workers write of the jobs that they have claimed.
  extension MemoryFleet {
    /// Returns the job that a worker still has.
    func held(_ claim: JobClaim) -> Job? {
      guard let job = jobs[claim.id], job.fence == claim.fence, job.worker == claim.worker, job.state == .running else {
        return nil
      }
      return job
    }

    /// Whether one of the signals that a write consumes was dropped.
    fileprivate func isDropped(_ numbers: [Int64], of job: Job) -> Bool {
      job.signals.contains { $0.isDropped && numbers.contains($0.number) }
    }
  }

  extension MemoryFleet.Job {
    fileprivate mutating func take(_ numbers: [Int64]) {
      for index in signals.indices where numbers.contains(signals[index].number) {
        (signals[index].isTaken, signals[index].value) = (true, "")
      }
    }

    /// Adds the attempt that ends now; the oldest are dropped.
    mutating func attempted(_ state: FleetState, _ error: String?, _ now: Double) {
      attempts = attempts.suffix(OperatorTables.attemptLimit - 1)
      attempts.append(
        FleetAttempt(
          stage: Int(version),
          number: attempt,
          worker: claimedBy,
          startedAt: Date(timeIntervalSince1970: claimedAt ?? 0),
          endedAt: Date(timeIntervalSince1970: now),
          outcome: state.description,
          error: error.map { String($0.prefix(500)) }
        )
      )
    }
  }

  extension FleetState {
    /// An attempt whose worker died.
    static let lost = FleetState("lost")
  }

  extension StageSave {
    func write(to fleet: inout MemoryFleet, at now: Double) -> Bool {
      guard let job = fleet.jobs[claim.id], job.fence == claim.fence else { return false }
      let isHeld = job.state == .running && job.worker == claim.worker
      if job.version == version, job.stage == stage, job.state == .done || isHeld { return true }
      guard isHeld, job.version == version - 1, !fleet.isDropped(signals, of: job) else { return false }
      fleet.update(claim.id, at: now) { job in
        (job.stage, job.shape, job.version) = (stage, Int(shape), version)
        (job.attempt, job.deaths, job.isParked, job.error) = (1, 0, false, nil)
        if isLast { (job.state, job.worker, job.finishedAt) = (.done, nil, now) }
        job.take(signals)
        if job.keepsStages, !isLast {
          job.stages.append(MemoryFleet.Stage(version: version, shape: Int(shape), stage: stage, savedAt: now))
        }
      }
      return true
    }
  }

  extension EntrySave {
    func write(to fleet: inout MemoryFleet, at now: Double) -> Bool {
      guard let job = fleet.held(claim), !fleet.isDropped(signals, of: job) else { return false }
      guard number == 2 || job.entries.contains(where: { $0.number == number - 1 }) else { return false }
      let known = job.entries.first { $0.number == number }
      let isStored = known.map { $0.entry == entry } ?? true
      fleet.note(claim.id) { job in
        if known == nil { job.entries.append(StoredEntry(number: number, entry: entry, savedAt: now)) }
        if isStored { job.take(signals) }
        if job.attempt > 1 || job.isParked {
          (job.attempt, job.deaths, job.isParked, job.error) = (1, 0, false, nil)
        }
      }
      return isStored
    }
  }

  extension ChildrenSave {
    /// A write that is repeated enqueues nothing: children may have ended since.
    func write(to fleet: inout MemoryFleet, at now: Double) throws(FleetError) -> Bool {
      let isKnown = fleet.jobs[claim.id]?.entries.contains { $0.number == entry.number && $0.entry == entry.entry }
      let before = fleet
      guard entry.write(to: &fleet, at: now) else { return false }
      if isKnown == true { return true }
      for batch in children {
        var options = batch.options
        options.replacing = .finished
        let jobs = try NewJobs(batch.jobs, options, parent: claim.id)
        let added = Set(fleet.enqueue(jobs, at: now).added)
        if let taken = batch.jobs.ids.filter({ !added.contains($0) }).min(), let state = fleet.jobs[taken]?.state {
          fleet = before
          let reason = "the fleet has a job with the id of a child, \(taken), which is \(state)"
          throw .unstorable(id: claim.id, reason: "\(reason); requeue it or remove it first")
        }
      }
      return true
    }
  }

  extension ParkedJob {
    func write(to fleet: inout MemoryFleet, at now: Double) -> Bool {
      guard fleet.held(claim) != nil else { return false }
      fleet.note(claim.id) { job in
        (job.isParked, job.parkedFor, job.waitsSince) = (true, signals, now)
        (job.waitsUntil, job.attempt) = (end, job.attempt - job.deaths)
        if job.deaths > 0 { job.error = nil }
        job.deaths = 0
      }
      return true
    }
  }

  extension EndedAttempt {
    func write(to fleet: inout MemoryFleet, at now: Double) -> Bool {
      guard fleet.held(claim) != nil else { return false }
      let waits = ending.isUncounted && (ending.end != nil || !(ending.waitsFor ?? []).isEmpty)
      // A chain that failed and was not undone. Where it is cancelled, it is undone.
      let isHeld = ending.state == .failed && ending.isUncounted
      fleet.update(claim.id, at: now) { job in
        let isCancelled = job.isCancellationRequested
        job.unreadCodec = ending.unreadCodec
        if !waits, ending.state != .done, ending.unreadCodec == nil { job.attempted(ending.state, ending.error, now) }
        if isCancelled, ending.state != .done, !job.isChain {
          job.state = .cancelled
        } else if isCancelled, ending.end != nil || isHeld {
          job.state = .queued
        } else {
          job.state = ending.state
        }
        if isCancelled, ending.end != nil {
          job.runAt = now
        } else if let end = ending.end {
          job.runAt = end
        } else if ending.state == .scheduled {
          job.runAt = now + ending.delay / .seconds(1)
        }
        job.error = ending.outcome == nil && ending.state != .done ? ending.error ?? job.error : ending.error
        (job.waitsFor, job.children, job.worker) = (ending.waitsFor ?? [], ending.children, nil)
        (job.waitsSince, job.waitsUntil) = (now, ending.end)
        job.attempt -= waits ? 1 + job.deaths : ending.isUncounted ? 1 : 0
        if waits { job.deaths = 0 }
        let hasEnded = ending.state.isFinal || isCancelled && !job.isChain
        job.finishedAt = hasEnded && !(isHeld && isCancelled) ? now : nil
        job.stage = ending.outcome ?? job.stage
        // A parent may have to undo a child that is done.
        let keepsEntries = job.keepsStages || job.parent != nil && ending.state == .done
        if ending.outcome != nil, !keepsEntries { job.entries = [] }
      }
      return true
    }
  }

  /// What the code of a job stores, and signals.
  extension MemoryFleet {
    mutating func replaceEntries(_ claim: JobClaim, _ number: Int64, _ entry: [UInt8], at now: Double) -> Bool {
      guard held(claim) != nil else { return false }
      note(claim.id) { $0.entries = [StoredEntry(number: number, entry: entry, savedAt: now)] }
      return true
    }

    mutating func setNote(_ text: String?, of claim: JobClaim) -> Bool {
      guard held(claim) != nil else { return false }
      note(claim.id) { $0.note = text }
      return true
    }

    mutating func deadline(
      _ name: String,
      after duration: Duration,
      of claim: JobClaim,
      at now: Double
    ) -> (end: Double, rest: Double)? {
      guard let job = held(claim) else { return nil }
      let known = job.deadlines.version == job.version ? job.deadlines.ends : [:]
      let end = known[name] ?? now + max(0, duration / .seconds(1))
      note(claim.id) { $0.deadlines = ($0.version, known.merging([name: end]) { $1 }) }
      return (end, end - now)
    }

    /// Stores a signal for a job that has not ended, and queues a job that was stopped until it comes.
    mutating func send(_ signal: SignalText, to id: String, at now: Double) -> SignalAnswer {
      guard let job = jobs[id] else { return .unknown }
      if job.signals.contains(where: { $0.message == signal.message }) { return .known }
      if job.state.isFinal { return .ended(job.state) }
      let number = nextSignal()
      update(id, at: now) { job in
        job.signals.append(
          Signal(number: number, name: signal.name, message: signal.message, value: signal.text, sentAt: now)
        )
      }
      return .added(jobs[id]?.state ?? job.state, name: job.name)
    }

    mutating func start(
      _ new: NewJobs,
      sending signal: SignalText,
      at now: Double
    ) -> (isAdded: Bool, answer: SignalAnswer) {
      let isAdded = !enqueue(new, at: now).added.isEmpty
      guard let id = new.batch.ids.first else { return (false, .unknown) }
      if !isAdded, let name = jobs[id]?.name, name != new.batch.name { return (false, .foreign(name: name)) }
      return (isAdded, send(signal, to: id, at: now))
    }

    mutating func dropSignals(_ name: String, of id: String, message: String?) -> Int {
      var count = 0
      note(id) { job in
        for index in job.signals.indices {
          let signal = job.signals[index]
          guard signal.name == name, !signal.isTaken, message == nil || signal.message == message else { continue }
          (job.signals[index].isTaken, job.signals[index].isDropped, job.signals[index].value) = (true, true, "")
          count += 1
        }
      }
      return count
    }

    mutating func refuse(_ number: Int64, of id: String, _ reason: String) {
      note(id) { job in
        for index in job.signals.indices where job.signals[index].number == number && !job.signals[index].isTaken {
          job.signals[index].refusal = reason
        }
      }
    }

    func signals(
      of id: String,
      _ names: [String],
      limit: Int,
      except taken: [Int64]
    ) -> [(number: Int, name: String, value: [UInt8])] {
      (jobs[id]?.signals ?? []).filter { names.contains($0.name) && !$0.isTaken && !taken.contains($0.number) }
        .prefix(limit).map { (Int($0.number), $0.name, Array($0.value.utf8)) }
    }
  }
#endif
