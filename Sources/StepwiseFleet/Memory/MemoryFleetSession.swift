// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// What one fleet has of a store in memory: the connection of a process.
  struct MemoryFleetSession: FleetStore {
    private let store: MemoryFleetStore
    private let retention: Duration?
    private let crash: MemoryFleetCrash?
    /// The numbers of the workers of this process.
    private let workers = WorkerNumbers()

    private final class WorkerNumbers: Sendable {
      let all = Lock<[Int64]>([])
    }

    init(_ store: MemoryFleetStore, retention: Duration?, crash: MemoryFleetCrash? = nil) {
      (self.store, self.retention, self.crash) = (store, retention, crash)
    }

    private func read<Value>(_ body: (MemoryFleet, Double) throws -> Value) throws -> Value {
      try crash?.check()
      return try store.read(body)
    }

    private func write<Value>(_ body: (inout MemoryFleet, Double) throws -> Value) throws -> Value {
      guard let crash else { return try store.write(body) }
      try crash.check()
      do {
        return try store.write(deciding: crash.decide, body)
      } catch let error as MemoryFleetCrash.Failure {
        // The workers of the process die with it.
        let numbers = workers.all.withLock { $0 }
        try store.write { fleet, _ in
          for number in numbers { fleet.workers[number]?.isDead = true }
          fleet.report(.due)
        }
        throw error
      }
    }

    var clock: FleetClock { store.clock }

    func listen(while isNeeded: @escaping @Sendable () -> Bool, _ receive: @escaping FleetHub.Call) {
      store.listen(while: isNeeded, receive)
    }

    func waitUntilDue(upTo poll: Duration) async {
      // A worker that failed to register, or whose process has ended, tries again.
      if crash?.hasCrashed == true { return await clock.sleep(for: poll) }
      await store.waitUntilDue(upTo: retention == nil ? FleetClock.endless : .seconds(61))
    }
  }

  /// Enqueuing and signals.
  extension MemoryFleetSession {
    func enqueue(_ jobs: NewJobs) async throws -> (count: Int, isReady: Bool) {
      let (added, isReady) = try write { $0.enqueue(jobs, at: $1) }
      return (added.count, isReady)
    }

    func enqueueEach(_ jobs: NewJobs) async throws -> (added: [String], isReady: Bool) {
      try write { $0.enqueue(jobs, at: $1) }
    }

    func foreignJob(in batch: FleetBatch) async throws -> (id: String, name: String)? {
      try read { fleet, _ in
        batch.ids.compactMap { fleet.jobs[$0] }.filter { $0.name != batch.name }
          .min { MemoryFleet.isOrdered($0.id, $1.id) }.map { ($0.id, $0.name) }
      }
    }

    func statement(for jobs: NewJobs) throws -> FleetStatement {
      throw FleetError.needsPostgres(call: "enqueue(_:options:through:)")
    }

    func announce(_ counts: [(name: String, count: Int)]) async throws { try write { fleet, _ in fleet.report(.jobs) } }

    func send(_ signal: SignalText, to id: String) async throws -> SignalAnswer {
      try write { $0.send(signal, to: id, at: $1) }
    }

    func start(_ job: NewJobs, sending signal: SignalText) async throws -> (isAdded: Bool, answer: SignalAnswer) {
      try write { $0.start(job, sending: signal, at: $1) }
    }

    /// Each change has notified them.
    func notify(_ ids: [String]) {}

    func dropSignals(_ name: String, of id: String, message: String?) async throws -> Int {
      try write { fleet, _ in fleet.dropSignals(name, of: id, message: message) }
    }

    func refusedSignals(of id: String) async throws -> [FleetRefusedSignal] {
      try read { fleet, _ in
        (fleet.jobs[id]?.signals ?? []).filter { !$0.isTaken }.compactMap { signal in
          signal.refusal.map {
            FleetRefusedSignal(
              name: signal.name,
              json: signal.value,
              reason: $0,
              sentAt: Date(timeIntervalSince1970: signal.sentAt)
            )
          }
        }
      }
    }
  }

  /// Control.
  extension MemoryFleetSession {
    func cancel(_ ids: [String], reason: String?) async throws -> Int {
      try write { $0.cancel(ids, reason: reason, at: $1) }
    }

    func pause(_ name: String) async throws -> Bool { try write { $0.pause(name, at: $1) } }
    func resume(_ name: String) async throws -> Bool { try write { fleet, _ in fleet.resume(name) } }
    func pauseJob(_ id: String) async throws -> Bool { try write { $0.pauseJob(id, at: $1) } }

    func resumeJob(_ id: String) async throws -> (name: String, state: FleetState)? {
      try write { $0.resumeJob(id, at: $1) }
    }

    func fork(_ id: String, fromStage number: Int, as newID: String) async throws -> String?? {
      try write { $0.fork(id, fromStage: number, as: newID, at: $1) }
    }

    func prune(olderThan age: Duration, states: Set<FleetState>) async throws -> Int {
      try write { $0.prune(olderThan: age, states: states, at: $1) }
    }

    func count(_ change: FleetChange, to filter: FleetFilter) async throws -> ChangeCounts {
      try read { $0.count(change, to: filter, at: $1) }
    }

    func ids(
      of change: FleetChange,
      to filter: FleetFilter,
      after last: String,
      enqueuedBy time: Double,
      limit: Int
    ) async throws -> [String] {
      try read { $0.ids(of: change, to: filter, after: last, enqueuedBy: time, limit: limit, at: $1) }
    }

    func hasJob(tagged tag: String) async throws -> Bool {
      try read { fleet, _ in fleet.jobs.values.contains { $0.tags.contains(tag) } }
    }

    func requeue(_ ids: [String]) async throws -> [ChangedName] { try write { $0.requeue(ids, at: $1) } }

    func prioritize(_ ids: [String], _ priority: Int) async throws -> [ChangedName] {
      try write { fleet, _ in fleet.prioritize(ids, priority) }
    }

    func remove(_ ids: [String]) async throws -> Int { try write { fleet, _ in fleet.remove(ids) } }
  }

  /// What is stored of a job.
  extension MemoryFleetSession {
    func statuses(of ids: [String]) async throws -> [FleetStatus] {
      try read { fleet, now in Set(ids).compactMap { fleet.jobs[$0] }.map { fleet.status(of: $0, at: now) } }
    }

    func watch(_ id: String) async throws -> FleetStatus? {
      try read { fleet, now in fleet.jobs[id].map { fleet.status(of: $0, at: now, isBrief: true) } }
    }

    func end(of id: String) async throws -> (shape: Int, stage: String?, first: String)? {
      try read { fleet, _ in fleet.jobs[id].map { ($0.shape, $0.stage, $0.first) } }
    }

    func stages(of id: String, after version: Int64) async throws -> [(version: Int64, shape: Int, stage: String)] {
      try read { fleet, _ in
        (fleet.jobs[id]?.passed ?? []).filter { $0.version > version }.prefix(100).map {
          ($0.version, $0.shape, $0.stage)
        }
      }
    }

    func ends(of ids: [String]) async throws -> [JobEnd]? { try read { fleet, _ in fleet.ends(of: ids) } }

    func entries(of id: String) async throws -> [StoredEntry] { try read { fleet, _ in fleet.jobs[id]?.entries ?? [] } }

    func runs(of ids: [String]) async throws -> [StoredRun] { try read { fleet, _ in fleet.runs(of: ids) } }

    func `continue`(_ id: String, _ fence: Int64, _ number: Int64, _ entry: [UInt8]) async throws -> String? {
      try write { $0.restart(id, fence, from: .failed, number, entry, at: $1) }
    }

    func reopen(_ id: String, _ fence: Int64, _ number: Int64, _ entry: [UInt8], reason: String) async throws -> String?
    {
      try write { $0.restart(id, fence, from: .done, number, entry, cancelledFor: reason, at: $1) }
    }
  }

  /// Overviews.
  extension MemoryFleetSession {
    func jobs(matching filter: FleetFilter, after last: String?, limit: Int) async throws -> [FleetStatus] {
      try read { fleet, now in
        fleet.ordered.filter { filter.matches($0, at: now) && MemoryFleet.isOrdered(last ?? "", $0.id) }
          .prefix(limit).map { fleet.status(of: $0, at: now) }
      }
    }

    func deadLetters(limit: Int) async throws -> [FleetStatus] {
      try read { fleet, now in
        fleet.jobs.values.filter { $0.state == .failed }.sorted { $0.finishedAt ?? 0 > $1.finishedAt ?? 0 }
          .prefix(limit).map { fleet.status(of: $0, at: now) }
      }
    }

    func counts() async throws -> [FleetState: Int] {
      try read { fleet, _ in Dictionary(grouping: fleet.jobs.values, by: \.state).mapValues(\.count) }
    }

    func names(endedWithin age: Duration?) async throws -> [FleetNameStatus] {
      try read { $0.names(endedWithin: age, at: $1) }
    }

    func workers() async throws -> [FleetWorkerStatus] { try read { fleet, _ in fleet.workerStatuses() } }

    func activity(within age: Duration, per period: Duration, named name: String?) async throws -> [FleetActivity] {
      try read { $0.activity(within: age, per: period, named: name, at: $1) }
    }

    func history(of id: String) async throws -> [FleetStageRecord] {
      try read { fleet, _ in
        (fleet.jobs[id]?.passed ?? []).map {
          FleetStageRecord(number: Int($0.version), savedAt: Date(timeIntervalSince1970: $0.savedAt), json: $0.stage)
        }
      }
    }

    func attempts(of id: String) async throws -> [FleetAttempt] { try read { fleet, _ in fleet.attempts(of: id) } }
    func errors(limit: Int) async throws -> [FleetErrorGroup] { try read { fleet, _ in fleet.errors(limit: limit) } }
  }

  /// Schedules.
  extension MemoryFleetSession {
    func knowsTimeZone(_ name: String) async throws -> Bool { TimeZone(identifier: name) != nil }

    func next(of cron: CronExpression, in zone: String, after seconds: Double) async throws -> Int64? {
      try read { _, now in
        TimeZone(identifier: zone).flatMap { MemoryFleet.next(of: cron, in: $0, after: max(now, seconds)) }
      }
    }

    func add(_ schedule: NewSchedule) async throws { try write { fleet, _ in fleet.add(schedule) } }

    func removeSchedule(_ name: String) async throws {
      try write { fleet, _ in fleet.schedules[name] = nil }
    }

    func dueSchedules() async throws -> [(name: String, cron: String, zone: String, time: Double)] {
      try read { fleet, now in
        fleet.schedules.values.filter { $0.next <= now }.sorted { ($0.next, $0.new.name) < ($1.next, $1.new.name) }
          .map { ($0.new.name, $0.new.cron, $0.new.zone, $0.next) }
      }
    }

    func tick(_ name: String, at time: Double, next: Double) async throws -> String? {
      try write { $0.tick(name, at: time, next: next, now: $1) }
    }

    func schedules() async throws -> [FleetSchedule] {
      try read { fleet, _ in
        fleet.schedules.values.sorted { ($0.next, $0.new.name) < ($1.next, $1.new.name) }.map { schedule in
          let name = schedule.new.name
          return FleetSchedule(
            name: name,
            cron: schedule.new.cron,
            timeZone: schedule.new.zone,
            progression: schedule.new.job.batch.name,
            nextAt: Date(timeIntervalSince1970: schedule.next),
            lastID: fleet.jobs.keys.filter { $0.hasPrefix(name + "@") }.max(by: MemoryFleet.isOrdered)
          )
        }
      }
    }

    func runSchedule(_ name: String) async throws -> (id: String, progression: String)? {
      try write { $0.runSchedule(name, at: $1) }
    }
  }

  /// Workers.
  extension MemoryFleetSession {
    func setLimits(_ limits: FleetLimits, of name: String) async throws {
      try write { $0.setLimits(limits, of: name, at: $1) }
    }

    func register(_ worker: NewWorker, within limit: Duration) async throws {
      workers.all.withLock { $0.append(worker.id) }
      let shapes = worker.versions ?? worker.names.map { _ in Int64.max }
      let names = Dictionary(zip(worker.names, shapes)) { $1 }
      try write { fleet, now in
        fleet.workers[worker.id] = MemoryFleet.Worker(
          id: worker.id,
          name: worker.name,
          startedAt: now,
          names: names,
          slots: worker.slots,
          tags: worker.tags
        )
        fleet.report(.jobs)
      }
    }

    func renew(_ worker: Int64, for lease: Duration, within limit: Duration) async throws -> Bool {
      try read { fleet, _ in fleet.workers[worker]?.isDead == false }
    }

    func beat(_ look: WorkerLook, within limit: Duration) async throws -> [FleetFinding?: [(id: String, fence: Int64)]]
    {
      try write { $0.beat(look, at: $1) }
    }

    func endLease(of worker: Int64, within limit: Duration) async throws {
      try write { fleet, _ in
        fleet.workers[worker]?.isDead = true
        fleet.report(.due)
      }
    }

    func claim(_ claim: ClaimRequest, within limit: Duration) async throws -> [ClaimedRow] {
      try write { $0.claim(claim, at: $1) }
    }

    func sweep(within limit: Duration) async throws -> (freed: Int, woken: Int) { try write { $0.sweep(at: $1) } }

    func store<Write: FencedWrite>(_ writes: [Write], within limit: Duration) async throws -> [WriteAnswer] {
      try write { fleet, now in
        try writes.compactMap { write in
          guard try write.write(to: &fleet, at: now) else { return nil }
          return WriteAnswer(fence: write.claim.fence)
        }
      }
    }

    func cancellationReason(of id: String) async throws -> String? {
      try read { fleet, _ in fleet.jobs[id]?.cancellationReason }
    }

    func attempt(of id: String) async throws -> Int? { try read { fleet, _ in fleet.jobs[id]?.attempt } }

    func replaceEntries(_ claim: JobClaim, _ number: Int64, _ entry: [UInt8]) async throws -> Bool {
      try write { $0.replaceEntries(claim, number, entry, at: $1) }
    }

    func setNote(_ text: String?, of claim: JobClaim) async throws -> Bool {
      try write { fleet, _ in fleet.setNote(text, of: claim) }
    }

    func deadline(_ name: String, after duration: Duration, of claim: JobClaim) async throws -> (
      end: Double, rest: Double
    )? {
      try write { $0.deadline(name, after: duration, of: claim, at: $1) }
    }

    func signals(
      of id: String,
      _ names: [String],
      limit: Int,
      except taken: [Int64]
    ) async throws -> [(number: Int, name: String, value: [UInt8])] {
      try read { fleet, _ in fleet.signals(of: id, names, limit: limit, except: taken) }
    }

    func refuse(_ signal: Int64, of id: String, _ reason: String) async throws {
      try write { fleet, _ in fleet.refuse(signal, of: id, reason) }
    }
  }
#endif
