// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
  import StepwiseCheckpoints

  extension Fleet {
    /// Runs the fleet's jobs in this process until the token, or the calling Task, is cancelled.
    ///
    /// Then the worker drains: it claims no further job, each stage in progress may end within the drain limit and is
    /// saved, and the jobs return to the queue. Stages that take longer are cancelled. This returns when no stage runs
    /// here any more, so a stage that ignores cancellation delays it.
    ///
    /// In `withTerminationSignals`, Ctrl-C and SIGTERM begin the drain.
    ///
    /// While the server cannot be reached, stages run on until the lease is over; then they are cancelled, and the
    /// worker registers again when it can.
    ///
    /// - Parameters:
    ///   - token: The token that begins the drain.
    ///   - onEvent: Called with each event, from any thread and concurrently.
    /// - Throws: ``FleetError/invalidTag(tag:reason:)`` when the configuration names a tag that no job can have;
    ///   ``PostgresError`` when the server cannot be reached at first, or refuses the tables, a claim or a
    ///   registration for a reason that stays, such as a missing right. In that case the worker drains first.
    @concurrent public func work(
      until token: CancellationToken = CancellationToken(),
      onEvent: @escaping @Sendable (FleetEvent) -> Void = { _ in }
    ) async throws {
      try configuration.tags.check()
      let registrations = registrations.withLock { $0 }
      let worker = FleetWorker(self, registrations, onEvent: onEvent)
      try await withHealth(of: worker) { try await worker.run(until: token) }
    }
  }

  /// Claims and runs jobs until it is drained.
  final class FleetWorker: Sendable {
    struct State {
      var machine: WorkerMachine
      var jobs: [Int64: ClaimedJob] = [:]
      /// The lease; nil while there is none.
      var term: LeaseTerm?
      /// Those that wait for a slot to continue parked jobs.
      var wakers: [Int64: [Once<Void>]] = [:]
      /// The permanent error because of which the worker drains.
      var failure: (any Error)?
    }

    let fleet: Fleet
    let configuration: FleetConfiguration
    let registrations: [String: FleetRegistration]
    let saves = Batcher<StageSave, Bool>(size: \.size)
    let appends = Batcher<EntrySave, Bool>(size: \.size)
    // Each is a statement of its own.
    let appendsWithChildren = Batcher<ChildrenSave, Bool>(isAlike: { _, _ in false })
    let parks = Batcher<ParkedJob, Bool>(size: \.size)
    let ends = Batcher<EndedAttempt, Bool>(size: \.size)
    let state: Lock<State>
    /// Raised when there may be something to claim, or a reason to stop.
    let attention: FleetSignal
    let onEvent: @Sendable (FleetEvent) -> Void
    private let origin: Duration

    init(
      _ fleet: Fleet,
      _ registrations: [String: FleetRegistration],
      onEvent: @escaping @Sendable (FleetEvent) -> Void = { _ in }
    ) {
      self.onEvent = onEvent
      self.fleet = fleet
      (attention, origin) = (FleetSignal(fleet.store.clock), fleet.store.clock.now())
      configuration = fleet.configuration
      self.registrations = registrations
      state = Lock(State(machine: WorkerMachine(slots: configuration.slots, parkLimit: configuration.maxParked)))
    }

    var clock: FleetClock { fleet.store.clock }

    var now: Duration { clock.now() - origin }

    /// How long the server may take for a statement before it is sent again elsewhere.
    var limit: Duration { configuration.leaseDuration / 3 }

    /// Runs jobs until the token or the Task is cancelled, and then until no job runs here.
    func run(until token: CancellationToken) async throws {
      try await declareLimits()
      let subscription = fleet.hub.subscribe { [weak self] payload in self?.receive(payload) }
      defer { withExtendedLifetime(subscription) {} }
      let registration = token.onCancel { [weak self] _ in self?.drain() }
      defer { registration.remove() }
      // The work below continues while the worker drains: neither the caller's cancellation nor the tokens around it
      // reach the stages.
      let work = spawn { await Scope.$current.withValue(.outside) { await self.work() } }
      await withTaskCancellationHandler {
        await work.value
      } onCancel: {
        drain()
      }
      try await shielded { await Result.of { try await self.unregister() } }.get()
      if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Writes of a job, also when the Task is cancelled: the work is done.
    ///
    /// If the server refuses the write for a reason that stays, the worker drains, and returns the job to the queue at the end.
    ///
    /// - Throws: `LostJob` when the job is not this worker's any more; ``FleetError/unstorable(id:reason:)`` when the server can
    ///   never store the write.
    func store<Write: FencedWrite>(_ write: Write, with batcher: Batcher<Write, Bool>) async throws {
      do {
        let isStored = try await batcher.add(write) { [self] writes in
          try await whileLeased { try await fleet.store(writes, within: limit) }
        }
        if !isStored { throw LostJob() }
      } catch let error as any FleetStoreError where error.isPermanent {
        report(.heartbeatFailed(error), error)
        throw LostJob()
      } catch let error as any FleetStoreError where error.isUnstorable {
        throw FleetError.unstorable(id: write.claim.id, reason: "\(error)")
      }
    }

    /// Runs a statement for a job; while the lease lasts, a server that cannot be reached, or has no space, is waited for.
    private func whileLeased<Value>(_ statement: () async throws -> Value) async throws -> Value {
      while true {
        do {
          return try await statement()
        } catch {
          try await wait(toRepeat: error)
        }
      }
    }

    /// Returns when a statement that has failed may be repeated; throws the error when it may not.
    private func wait(toRepeat error: any Error) async throws {
      guard let failure = error as? any FleetStoreError, failure.isTemporary, state.withLock({ $0.term != nil }) else {
        throw error
      }
      await clock.sleep(for: .milliseconds(200))
      try Task.checkCancellation()
    }

    /// Reports an event; a permanent error begins the drain.
    func report(_ event: FleetEvent, _ error: any Error, isRegistration: Bool = false) {
      onEvent(event)
      guard let error = error as? any FleetStoreError, error.isPermanent || isRegistration && error.isUnstorable else {
        return
      }
      state.withLock { if $0.failure == nil { $0.failure = error } }
      drain()
    }

    /// Receives "c" with the id of a job that was cancelled, or "q" with the number of a worker for which there may be jobs.
    private func receive(_ payload: String?) {
      let subject = payload.map { String($0.dropFirst()) }
      if let id = subject, payload?.first == "c" { return cancel(id) }
      let worker = state.withLock { $0.machine.worker.map(String.init) }
      if subject == nil || subject == worker { attention.raise() }
    }

    private func work() async {
      // Where time is real, no stage runs on the threads that renew the lease.
      let keep: @Sendable () async -> Void = { await self.keepLease() }
      let renewing = clock.isReal ? LeaseThreads.spawn(keep) : spawn { await keep() }
      let heartbeat = spawn { await self.beat() }
      while let jobs = await next() {
        // A task group takes longer to remove a child the more it has, and parked jobs are many.
        for job in jobs { _ = spawn { await self.execute(job) } }
      }
      await waitForJobs()
      for task in [heartbeat, renewing] { task.cancel() }
      for task in [heartbeat, renewing] { await task.value }
    }

    /// Returns the jobs to start next; nil once the worker drains.
    private func next() async -> [ClaimedJob]? {
      while true {
        let (isDraining, claimable) = state.withLock { ($0.machine.isDraining, $0.machine.claimable()) }
        if isDraining { return nil }
        // The heartbeat polls, and raises the signal.
        guard let (_, free) = claimable else {
          await attention.wait(upTo: clock.polling(.seconds(60)))
          continue
        }
        // Jobs that were claimed at once often end at once: one claim replaces them all.
        if clock.isReal, free > 0, free <= configuration.slots / 2 { await clock.sleep(for: .milliseconds(1)) }
        // In that time, the worker may have begun to drain.
        guard let (worker, count) = state.withLock({ $0.machine.claimable() }) else { continue }
        do {
          let jobs = try await claim(count, as: worker)
          if !jobs.isEmpty { return jobs }
          await attention.wait(upTo: clock.polling(.seconds(60)))
        } catch {
          report(.claimFailed(error), error)
          await attention.wait(upTo: min(configuration.pollInterval, .seconds(1)))
        }
      }
    }

    /// The worker has its jobs until they have ended.
    private var surroundings: JobSurroundings {
      JobSurroundings(
        store: fleet.store,
        waitToRepeat: { try await self.wait(toRepeat: $0) },
        hub: fleet.hub,
        payloads: fleet.payloads,
        report: onEvent,
        save: { try await self.store($0, with: self.saves) },
        append: { try await self.store($0, with: self.appends) },
        appendWithChildren: { save in
          try await self.store(save, with: self.appendsWithChildren)
          for batch in save.children { await self.fleet.announce(batch.jobs.name, batch.jobs.ids.count) }
        },
        park: park,
        storeParked: { try await self.store($0, with: self.parks) },
        unpark: { await self.unpark($0.fence) },
        freeSlot: { self.freeSlot(of: $0.fence) },
        isStopping: isStopping
      )
    }

    private func claim(_ count: Int, as worker: Int64) async throws -> [ClaimedJob] {
      let types = Array(registrations.values)
      let known = state.withLock { $0.machine.claimSent() }
      var isAnswered = false
      let requested = now
      defer { state.withLock { $0.machine.claimOver(isAnswered: isAnswered) } }
      let rows = try await fleet.claim(count, as: worker, knowing: known, of: types, within: limit)
      isAnswered = true
      let claims = rows.map { (fence: $0.fence, id: $0.id, isCancellationRequested: $0.isCancellationRequested) }
      let time = now - requested
      let (jobs, earlier) = state.withLock { state -> ([ClaimedJob]?, [ClaimedJob]) in
        let ids = Set(rows.map(\.id))
        let earlier = state.machine.endings.compactMap { state.jobs[$0] }.filter { ids.contains($0.row.id) }
        guard let fences = state.machine.claimed(claims, by: worker) else { return (nil, []) }
        let jobs = rows.filter { fences.contains($0.fence) }.map { ClaimedJob($0, in: surroundings) }
        for job in jobs { state.jobs[job.row.fence] = job }
        return (jobs, earlier)
      }
      guard let jobs else {
        // What this process knows of its jobs is of another time.
        try? await unregister()
        lose()
        return []
      }
      // The end of the attempt before a retry is reported first.
      for job in earlier { await job.ended.valueIgnoringCancellation() }
      if !jobs.isEmpty { onEvent(.claimed(ids: jobs.map(\.row.id), within: time)) }
      for job in jobs where job.row.isCancellationRequested && !job.row.isChain { job.token.cancel() }
      return jobs
    }

    private func waitForJobs() async {
      let deadline = now + configuration.drainLimit
      var isPastDeadline = false
      while state.withLock({ !$0.machine.isEmpty }) {
        await attention.wait(upTo: isPastDeadline ? .seconds(1) : deadline - now)
        guard !isPastDeadline, now >= deadline else { continue }
        isPastDeadline = true
        cancel(state.withLock { $0.machine.drainTimedOut() })
      }
    }

    private func isStopping(_ row: ClaimedRow) -> Bool {
      state.withLock { state in
        switch state.machine.interruption(of: row.fence) {
        case nil: state.machine.isDraining
        // A chain has steps to undo.
        case .cancellation: state.machine.isDraining || !row.isChain
        case .loss, .drain: true
        }
      }
    }

    func drain() {
      let jobs = state.withLock { state in
        state.machine.drain()
        return Array(state.jobs.values)
      }
      for job in jobs { job.stopRun() }
      admit()
    }

    /// Cancels a job by request: a progression's stage with its token, a chain for good.
    func cancel(_ id: String) {
      let job = state.withLock { state in state.machine.cancellationRequested(of: id).flatMap { state.jobs[$0] } }
      guard let job else { return }
      guard job.row.isChain else { return job.cancelStage() }
      _ = spawn { job.cancelRun(reason: try? await job.cancellationReason()) }
    }

    func cancel(_ fences: [Int64]) {
      let jobs = state.withLock { state in fences.compactMap { state.jobs[$0] } }
      for job in jobs { job.cancelStage() }
    }

    /// Lets other jobs run while the end of a job is stored.
    func freeSlot(of fence: Int64) {
      state.withLock { $0.machine.ending(fence) }
      admit()
    }

    func ended(_ job: ClaimedJob) {
      state.withLock { state in
        state.machine.ended(job.row.fence)
        state.jobs[job.row.fence] = nil
      }
      job.ended.settle(())
      admit()
    }
  }

  extension FleetWorker {
    /// Runs a job and stores how the attempt ended; returns when the database knows, or the job is lost.
    func execute(_ job: ClaimedJob) async {
      var failure: (any Error)?
      var end: Ending?
      do {
        guard let registration = registrations[job.row.name] else { throw FleetError.notFound(id: job.row.id) }
        let current = FleetJob(fleet: fleet, id: job.row.id, claim: job)
        let watch = registration.limits.isTimed ? spawn { await job.limitTime(registration.limits) } : nil
        defer { watch?.cancel() }
        end = try await FleetJob.$current.withValue(current) {
          try await withCancellation(by: job.token) { try await registration.run(job) }
        }
      } catch let error as HeldFailure {
        failure = error
        do { try await job.keepForContinuation() } catch { failure = error }
      } catch {
        failure = error
      }
      let interruption = state.withLock { $0.machine.interruption(of: job.row.fence) }
      // A job that was enqueued at its last stage has a result that no save has recorded.
      let ending = end ?? ending(job, failure, interruption)
      if let ending, !job.isDone {
        freeSlot(of: job.row.fence)
        let (stored, refusal) = await store(ending, job)
        onEvent(
          .ended(
            id: job.row.id,
            progression: job.row.name,
            state: stored.state,
            attempt: job.attempt,
            error: stored.error == nil
              ? nil : refusal ?? ending.failure ?? (job.row.isChain ? failure : job.timeout ?? failure)
          )
        )
      }
      ended(job)
    }

    /// Returns what to store for a job without a result; nil when the job is lost.
    private func ending(
      _ job: ClaimedJob,
      _ failure: (any Error)?,
      _ interruption: WorkerMachine.Interruption?
    ) -> Ending? {
      switch (failure, interruption) {
      case (_, .loss), (is LostJob, _): return nil
      // A chain that was cancelled has undos, which failed or are still missing.
      case (_, .cancellation) where !job.row.isChain: return Ending(state: .cancelled)
      // Its data is kept for a worker that can read it.
      case (let error as FleetError, _) where error.codec != nil:
        return Ending(
          state: .scheduled,
          delay: .seconds(30),
          error: Ending.text(error),
          isUncounted: true,
          unreadCodec: error.codec
        )
      case _ where job.suspension != nil: return job.suspension?.ending
      case (is HeldFailure, .cancellation): return Ending(state: .queued, isUncounted: true)
      case (let held as HeldFailure, _):
        return Ending(state: .failed, error: Ending.text(held.error), isUncounted: true, failure: held.error)
      case (nil, _), (_, .drain): return Ending(state: .queued, isUncounted: true)
      case (let error?, _):
        let failure = job.row.isChain ? error : job.timeout ?? error
        let text = Ending.text(failure)
        let isPermanent =
          switch failure {
          case JobTimeout.job, is FleetError, CheckpointError.unknownShape, CheckpointError.unencodable,
            CheckpointError.ambiguousType, CheckpointError.foreignType:
            true
          default: false
          }
        guard !isPermanent, let delay = registrations[job.row.name]?.delay(after: failure, failures: job.attempt) else {
          return Ending(state: .failed, error: text)
        }
        return Ending(state: delay > .zero ? .scheduled : .queued, delay: delay, error: text)
      }
    }

    /// Stores an ending; while the server cannot be reached, tries again until the lease is over.
    ///
    /// One that the server can never store is replaced by one that says so.
    ///
    /// - Returns: What was stored, and the error that ended the job instead of its own ending.
    private func store(_ ending: Ending, _ job: ClaimedJob) async -> (Ending, (any Error)?) {
      var (ending, refusal, refusals) = (ending, (any Error)?.none, 0)
      while state.withLock({ $0.machine.interruption(of: job.row.fence) != .loss }), refusals < 10 {
        do {
          try await store(EndedAttempt(claim: job.row.claim, ending: ending), with: ends)
          // A child may have ended before the wait for it was stored.
          if ending.state == .waiting || ending.children != nil { try await sweep() }
          break
        } catch is LostJob {
          break
        } catch let error as FleetError {
          refusals += 1
          let replaced = ending.replaced(after: error)
          if replaced.state != ending.state { refusal = error }
          ending = replaced
        } catch {
          // A drain does not wait without end for a statement that the server refuses; the job returns to the queue.
          if let error = error as? any FleetStoreError, !error.isTemporary { refusals += 1 }
          await clock.sleep(for: .milliseconds(200))
        }
      }
      return (ending, refusal)
    }

    /// Frees what dead workers held, and wakes parents.
    func sweep() async throws {
      let (freed, woken) = try await fleet.sweep(within: limit)
      if freed + woken > 0 { attention.raise() }
      if freed > 0 { onEvent(.freed(jobCount: freed)) }
    }
  }

  /// Jobs that sleep or wait for a signal take no slot: their Tasks are parked under the worker's lease, up to a limit.
  extension FleetWorker {
    /// Returns false for a job that is to be stopped until its wait is over.
    ///
    /// A parked job counts as running for the limits of its name, so one whose name has such limits is stopped.
    func park(_ row: ClaimedRow) -> Bool {
      let limits = registrations[row.name]?.limits ?? .none
      guard limits.running == nil, limits.runningPerKey == nil else { return false }
      guard state.withLock({ $0.machine.park(row.fence) }) else { return false }
      admit()
      return true
    }

    /// Returns when a parked job has a slot.
    func unpark(_ fence: Int64) async {
      let slot = Once<Void>()
      let hasSlot = state.withLock { state in
        if state.machine.unpark(fence) { return true }
        state.wakers[fence, default: []].append(slot)
        return false
      }
      if hasSlot { return }
      admit()
      await slot.valueIgnoringCancellation()
    }

    /// Assigns free slots to parked jobs whose waits are over, and the others to jobs that are claimed.
    func admit() {
      let slots = state.withLock { state in
        state.machine.admitted().flatMap { state.wakers.removeValue(forKey: $0) ?? [] }
      }
      for slot in slots { slot.settle(()) }
      attention.raise()
    }
  }
#endif
