// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  /// Claims and runs jobs until it is drained.
  final class FleetWorker: Sendable {
    /// A Boolean value that several objects share.
    final class LeaseFlag: Sendable {
      let value = Lock(false)
    }

    struct State {
      var machine: WorkerMachine
      var jobs: [Int64: ClaimedJob] = [:]
      var term: LeaseTerm?
      /// Why the worker drains, unless it was told to by its caller.
      var failure: PostgresError?
    }

    let fleet: Fleet
    let database: PostgresDatabase
    let configuration: FleetConfiguration
    let registrations: [String: FleetRegistration]
    let saver: StageSaver
    /// Whether the lease lasts, for what the worker owns and the worker must not be retained by.
    let leaseLasts: LeaseFlag
    let state: Lock<State>
    /// Raised when there may be something to claim, or a reason to stop.
    let attention = FleetSignal()
    /// Raised when the lease is lost or the worker stops.
    let heartbeatAttention = FleetSignal()
    private let onEvent: @Sendable (FleetEvent) -> Void
    private let origin = ContinuousClock.now

    init(
      _ fleet: Fleet,
      _ registrations: [String: FleetRegistration],
      onEvent: @escaping @Sendable (FleetEvent) -> Void = { _ in }
    ) {
      self.onEvent = onEvent
      self.fleet = fleet
      database = fleet.database
      configuration = fleet.configuration
      self.registrations = registrations
      let leaseLasts = LeaseFlag()
      self.leaseLasts = leaseLasts
      saver = StageSaver(database, channel: configuration.schema, within: configuration.leaseDuration / 3) {
        leaseLasts.value.withLock { $0 }
      }
      state = Lock(State(machine: WorkerMachine(slots: configuration.slots)))
    }

    var now: Duration { origin.duration(to: .now) }

    /// How long the server may take for a statement before it is sent again elsewhere.
    var limit: Duration { configuration.leaseDuration / 3 }

    /// Runs jobs until the token or the Task is cancelled, and then until no job runs here.
    func run(until token: CancellationToken) async throws {
      try await declareLimits()
      let key = fleet.hub.addWorker { [weak self] id in
        if let id { self?.cancel(id) } else { self?.attention.raise() }
      }
      defer { fleet.hub.removeWorker(key) }
      let registration = token.onCancel { [weak self] _ in self?.drain() }
      defer { registration.remove() }
      // The work below goes on while the worker drains: neither the caller's cancellation nor the tokens around it
      // reach the stages.
      let work = spawn { await Scope.$current.withValue(nil) { await self.work() } }
      await withTaskCancellationHandler {
        await work.value
      } onCancel: {
        drain()
      }
      try await shielded { () async -> Result<Void, any Error> in
        do { return .success(try await self.unregister()) } catch { return .failure(error) }
      }.get()
      if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// Reports an event; a permanent error begins the drain.
    func report(_ event: FleetEvent, _ error: any Error) {
      onEvent(event)
      guard let error = error as? PostgresError, error.isPermanent else { return }
      state.withLock { if $0.failure == nil { $0.failure = error } }
      drain()
    }

    private func work() async {
      await withDiscardingTaskGroup { group in
        let heartbeat = spawn { await self.beat() }
        while let job = await next() {
          for row in job { group.addTask { await self.execute(row) } }
        }
        await waitForJobs()
        heartbeat.cancel()
        heartbeatAttention.raise()
        await heartbeat.value
      }
    }

    /// Returns the jobs to start next; nil once the worker drains.
    private func next() async -> [ClaimedJob]? {
      while true {
        let (isDraining, claimable) = state.withLock { ($0.machine.isDraining, $0.machine.claimable()) }
        if isDraining { return nil }
        guard let (worker, count) = claimable else {
          await attention.wait(upTo: configuration.pollInterval)
          continue
        }
        do {
          let jobs = try await claim(count, as: worker)
          if !jobs.isEmpty { return jobs }
          await attention.wait(upTo: configuration.pollInterval)
        } catch {
          report(.claimFailed(error), error)
          await attention.wait(upTo: min(configuration.pollInterval, .seconds(1)))
        }
      }
    }

    private func claim(_ count: Int, as worker: Int64) async throws -> [ClaimedJob] {
      let types = Array(registrations.values)
      let known = state.withLock { state in
        state.machine.claimSent()
        return state.machine.known
      }
      var isAnswered = false
      defer { state.withLock { $0.machine.claimOver(isAnswered: isAnswered) } }
      let rows = try await fleet.claim(count, as: worker, knowing: known, of: types, within: limit)
      isAnswered = true
      let claims = rows.map { (fence: $0.fence, id: $0.id, isCancellationRequested: $0.isCancellationRequested) }
      let (jobs, cancelled) = state.withLock { state -> ([ClaimedJob], [ClaimedJob]) in
        let claimed = state.machine.claimed(claims, by: worker)
        for row in rows where claimed.start.contains(row.fence) {
          state.jobs[row.fence] = ClaimedJob(row, saver) { [weak self] in self?.isStopping(row.fence) ?? true }
        }
        return (claimed.start.compactMap { state.jobs[$0] }, claimed.cancel.compactMap { state.jobs[$0] })
      }
      for job in cancelled { job.token.cancel() }
      return jobs
    }

    private func waitForJobs() async {
      let deadline = ContinuousClock.now + configuration.drainLimit
      var isPastDeadline = false
      while state.withLock({ !$0.machine.isEmpty }) {
        await attention.wait(upTo: isPastDeadline ? .seconds(1) : ContinuousClock.now.duration(to: deadline))
        guard !isPastDeadline, ContinuousClock.now >= deadline else { continue }
        isPastDeadline = true
        cancel(state.withLock { $0.machine.drainTimedOut() })
      }
    }

    private func isStopping(_ fence: Int64) -> Bool {
      state.withLock { $0.machine.isDraining || $0.machine.interruption(of: fence) != nil }
    }

    func drain() {
      state.withLock { $0.machine.drain() }
      attention.raise()
    }

    func cancel(_ id: String) {
      if let fence = state.withLock({ $0.machine.cancellationRequested(of: id) }) { cancel([fence]) }
    }

    func cancel(_ fences: [Int64]) {
      let jobs = state.withLock { state in fences.compactMap { state.jobs[$0] } }
      for job in jobs { job.token.cancel(reason: "The fleet stops this job.") }
    }

    func ended(_ fence: Int64) {
      _ = state.withLock { state in
        state.machine.ended(fence)
        return state.jobs.removeValue(forKey: fence)
      }
      attention.raise()
    }
  }
#endif
