// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  /// A job as a claim returned it.
  struct ClaimedRow: Sendable {
    let claim: JobClaim
    let name: String
    let attempt: Int
    let version: Int64
    let firstShape: Int
    let first: String
    let shape: Int
    let stage: String?
    let isCancellationRequested: Bool
    /// The time since the job started for the first time.
    let elapsed: Duration
    /// The server's time at the claim, in seconds since 1970.
    let claimedAt: Double

    var id: String { claim.id }
    var fence: Int64 { claim.fence }

    /// A Boolean value that indicates whether the job is a run of a chain.
    var isChain: Bool { name.namesChain }
  }

  /// What a worker does for its jobs; it refers to the worker, of which jobs and registrations know nothing else.
  struct JobSurroundings: Sendable {
    let store: any FleetStore
    /// Returns when an operation that has failed may be repeated; throws the error when it may not.
    let waitToRepeat: @Sendable (any Error) async throws -> Void
    let hub: FleetHub
    let payloads: FleetPayloads
    let report: @Sendable (FleetEvent) -> Void
    /// Both throw `LostJob` when the job is not the worker's any more.
    let save: @Sendable (StageSave) async throws -> Void
    let append: @Sendable (EntrySave) async throws -> Void
    /// Stores an entry, and enqueues children, in one transaction.
    let appendWithChildren: @Sendable (ChildrenSave) async throws -> Void
    /// Takes the slot of a job that waits; returns false for one that is to be stopped instead.
    let park: @Sendable (ClaimedRow) -> Bool
    /// Stores that a job is parked.
    let storeParked: @Sendable (ParkedJob) async throws -> Void
    /// Returns when the job has a slot again.
    let unpark: @Sendable (ClaimedRow) async -> Void
    /// Frees the slot of a job whose end is about to be stored.
    let freeSlot: @Sendable (ClaimedRow) -> Void
    /// Returns whether the job stops after its present stage.
    let isStopping: @Sendable (ClaimedRow) -> Bool
  }

  extension JobSurroundings {
    /// Performs an operation of the store that may be repeated.
    func run<Value>(_ operation: (any FleetStore) async throws -> Value) async throws -> Value {
      while true {
        do { return try await operation(store) } catch { try await waitToRepeat(error) }
      }
    }
  }

  /// A job that runs in this process.
  final class ClaimedJob: Sendable {
    let row: ClaimedRow
    let surroundings: JobSurroundings
    /// Cancelled when the job's stage is to stop.
    let token = CancellationToken()
    let state: Lock<State>
    /// Settled when the end of the job has been reported.
    let ended = Once<Void>()
    private let claimedAt: Duration

    struct State {
      /// The number of attempts at the present stage, this one included.
      var attempt: Int
      /// Whether the last stage was saved.
      var isDone = false
      /// What the job waits for while it is parked.
      var waits: [DurableWait] = []
      /// The numbers of the signals that the present stage has received.
      var received: [Int64] = []
      /// The run of a chain.
      var run: HostedRun?
      /// The children to enqueue with the entries that store these steps.
      var children: [String: [ChildBatch]] = [:]
      /// Whether a chain that fails can be continued, and is not undone.
      var holdsFailures = false
      /// Its cancellation, which may be requested before there is a run.
      var cancellation: Cancellation?
      var stageBegan: Duration
      /// How the attempt ends because the job waits.
      var suspension: JobSuspension?
      /// The time limit that was exceeded, if one was.
      var timeout: JobTimeout?
    }

    init(_ row: ClaimedRow, in surroundings: JobSurroundings) {
      (self.row, self.surroundings) = (row, surroundings)
      claimedAt = surroundings.store.clock.now()
      state = Lock(State(attempt: row.attempt, stageBegan: claimedAt))
    }

    var time: FleetClock { surroundings.store.clock }

    /// The store's time, in seconds since 1970.
    var now: Double { row.claimedAt + (time.now() - claimedAt) / .seconds(1) }

    /// A Boolean value that indicates whether the job stops after its present stage.
    var isStopping: Bool { surroundings.isStopping(row) }

    var attempt: Int { state.withLock { $0.attempt } }

    var isDone: Bool { state.withLock { $0.isDone } }

    var timeout: JobTimeout? { state.withLock { $0.timeout } }

    var suspension: JobSuspension? { state.withLock { $0.suspension } }

    /// Cancels the stage, or the job, when its time is up; returns when the Task is cancelled.
    ///
    /// The run of a chain is cancelled for good, so that its steps are undone.
    func limitTime(_ limits: FleetLimits) async {
      let end = limits.jobTime.map { time.now() + ($0 - row.elapsed) }
      while !Task.isCancelled {
        let began = state.withLock { state in
          if !state.waits.isEmpty { state.stageBegan = time.now() }
          return state.stageBegan
        }
        let stageEnd = row.isChain ? nil : limits.stageTime.map { began + $0 }
        guard let next = [end, stageEnd].compactMap({ $0 }).min() else { return }
        if next <= time.now() {
          let timeout = next == end ? JobTimeout.job(limits.jobTime ?? .zero) : .stage(limits.stageTime ?? .zero)
          state.withLock { $0.timeout = timeout }
          if row.isChain { cancelRun(reason: timeout.description) } else { token.cancel(reason: timeout.description) }
          return
        }
        await time.sleep(for: next - time.now())
      }
    }

    func save(_ stage: [UInt8], version: Int64, shape: Int, isLast: Bool) async throws {
      // A stage that caught the error of its wait has not done its work.
      if let suspension { throw suspension }
      let save = StageSave(
        claim: row.claim,
        version: version,
        shape: Int64(shape),
        stage: try surroundings.payloads.encode(String(decoding: stage, as: UTF8.self), of: row.id),
        isLast: isLast,
        signals: state.withLock { $0.received }
      )
      if isLast { surroundings.freeSlot(row) }
      try await surroundings.save(save)
      let now = time.now()
      state.withLock { state in
        (state.attempt, state.received, state.stageBegan, state.isDone) = (1, [], now, isLast)
      }
      surroundings.report(.saved(id: row.id, stageCount: Int(version), isLast: isLast))
    }
  }

  /// A time limit that a job has exceeded.
  enum JobTimeout: Error, CustomStringConvertible {
    case stage(Duration), job(Duration)

    var description: String {
      switch self {
      case .stage(let limit): "The stage exceeded its time limit of \(limit)."
      case .job(let limit): "The job exceeded its time limit of \(limit)."
      }
    }
  }

  /// The run of a chain.
  extension ClaimedJob {
    func attach(_ run: HostedRun) {
      let cancellation = state.withLock { state in
        state.run = run
        return state.cancellation
      }
      if isStopping { run.stop() }
      if let cancellation { run.cancel(cancellation.reason) }
    }

    /// Releases the run, which refers to the job.
    func detach() { state.withLock { $0.run = nil } }

    func cancellationReason() async throws -> String? {
      try await surroundings.run { try await $0.cancellationReason(of: row.id) }
    }

    func cancelStage() { token.cancel(reason: "The fleet stops this job.") }

    /// Cancels the run for good.
    func cancelRun(reason: String?) {
      let run = state.withLock { state in
        state.cancellation = Cancellation(reason: reason)
        return state.run
      }
      run?.cancel(reason)
    }

    /// Stops a chain after its present steps, and a job that only waits at once.
    func stopRun() {
      state.withLock { $0.run }?.stop()
      surroundings.hub.deliver(to: row.id)
    }
  }

  /// The store of the chain's run, with one record, whose lease is the worker's.
  extension ClaimedJob: CheckpointStore {
    func acquire(_ id: String) async throws -> CheckpointLease {
      CheckpointLease(id: id, fence: UInt64(bitPattern: row.fence))
    }

    func renew(_ lease: CheckpointLease) async throws -> CheckpointLease { lease }

    func release(_ lease: CheckpointLease) async throws {}

    func releaseWithoutWaiting(_ lease: CheckpointLease) {}

    func load(_ id: String) async throws -> CheckpointRecord? {
      let rows = try await surroundings.run { try await $0.entries(of: id) }
      let payloads = surroundings.payloads
      let start = try payloads.decode(start: row.first, of: id)
      let entries = try rows.map { try payloads.decode(entry: $0.entry, of: id) }
      do {
        return try CheckpointRecord(
          hosted: id,
          name: row.name,
          start: start,
          version: row.firstShape,
          recordVersion: UInt64(rows.last?.number ?? 1),
          entries: entries
        )
      } catch {
        throw CheckpointError.damaged(id: id, location: location(of: id), reason: error.reason)
      }
    }

    /// Replaces the entries of a run that continues; those of one that has ended are removed with the end of the job.
    func save(_ record: CheckpointRecord, ifVersionIs version: UInt64?, under lease: CheckpointLease) async throws {
      let entry = record.hostedEntry
      if let events = try? DurableEvent.events(in: entry), DurableLog(events).isEnded { return }
      let number = Int64(record.version)
      let stored = try surroundings.payloads.encode(entry: entry, of: row.id)
      if try await !surroundings.run({ try await $0.replaceEntries(row.claim, number, stored) }) { throw LostJob() }
    }

    func append(_ entry: [UInt8], ifVersionIs version: UInt64, under lease: CheckpointLease) async throws {
      let save = EntrySave(
        claim: row.claim,
        number: Int64(version) + 1,
        entry: try surroundings.payloads.encode(entry: entry, of: row.id),
        signals: DurableEvent.signals(in: entry).map { Int64($0) }
      )
      if let children = children(enqueuedBy: entry) {
        try await appendWithChildren(ChildrenSave(entry: save, children: children))
      } else {
        try await surroundings.append(save)
      }
      state.withLock { $0.attempt = 1 }
    }

    func remove(_ id: String) async throws {
      throw CheckpointError.held(id: id, location: location(of: id), processID: nil)
    }

    func list(after last: String?, limit: Int) async throws -> CheckpointPage {
      CheckpointPage(ids: [row.id], hasMore: false)
    }

    func location(of id: String) -> String { "the fleet's table of jobs" }
  }

  /// A job that was lost: its fencing number is not the present one.
  struct LostJob: Error {}

  /// What a job waits for: it is the host of its chain's run.
  extension ClaimedJob: DurableHost {
    var clock: any Clock<Duration> { time.base }

    var holdsFailures: Bool { state.withLock { $0.holdsFailures } }

    var codecs: PayloadCodecs? { surroundings.payloads.codecs }

    func news() -> @Sendable (_ limit: Duration) async -> Void { surroundings.hub.news(of: row.id) }

    func suspend(_ waits: [DurableWait]) { _ = suspended(JobSuspension(waits, now: now)) }

    /// Notes how the attempt ends, whatever the code makes of the error.
    func suspended(_ suspension: JobSuspension) -> JobSuspension {
      state.withLock { state in
        let first = state.suspension ?? suspension
        state.suspension = first
        return first
      }
    }

    func signals(_ names: [String], limit: Int) async throws -> [(number: Int, name: String, value: [UInt8])] {
      try await readingPayloads { try await signals(names, limit: limit, except: []) }
    }

    func expect(_ name: String, at step: String, _ expectation: SignalExpectation?) {
      surroundings.hub.expectations.set(expectation, for: name, of: row.id, at: step)
    }

    /// Notes why a signal cannot be read: it ends no wait from then on, and is kept.
    func refuse(_ signal: Int, of name: String, _ error: any Error) async {
      surroundings.report(.signalRefused(id: row.id, signal: name, error: error))
      do {
        // It may have parts of the signal.
        let text = try surroundings.payloads.encode(Ending.text(error), of: row.id)
        try await surroundings.run { try await $0.refuse(Int64(signal), of: row.id, text) }
      } catch {
        // The database may not have each character.
        try? await surroundings.run { try await $0.refuse(Int64(signal), of: row.id, "the signal is of another type") }
      }
      // Another step may have been about to look.
      surroundings.hub.deliver(to: row.id)
    }

    /// The names of the signals that the job waits for.
    var awaitedSignals: [String] {
      let (run, waits) = state.withLock { ($0.run, $0.waits) }
      return (run?.waits() ?? waits).flatMap(\.signals)
    }

    /// What ends within a second is not worth a write.
    func park(_ waits: [DurableWait]) -> Bool {
      state.withLock { $0.waits = waits }
      // What waits for other jobs waits in the database.
      guard waits.allSatisfy(\.children.isEmpty), surroundings.park(row) else { return false }
      let end = waits.compactMap(\.end).min() ?? .max
      if Double(end) > (now + 1) * 1_000 {
        let seconds = end == .max ? .infinity : Double(end) / 1_000
        let job = ParkedJob(claim: row.claim, signals: waits.flatMap(\.signals), end: seconds)
        _ = spawn { await self.storeParked(job) }
      }
      return true
    }

    /// The attempts that were deaths of workers do not count from here on: the job has reached its wait.
    private func storeParked(_ job: ParkedJob) async {
      guard (try? await surroundings.storeParked(job)) != nil, row.attempt > 1 else { return }
      guard let attempt = try? await surroundings.run({ try await $0.attempt(of: row.id) }) else { return }
      state.withLock { $0.attempt = max(1, min($0.attempt, attempt)) }
    }

    func unpark() async {
      await surroundings.unpark(row)
      let now = time.now()
      state.withLock { ($0.waits, $0.stageBegan) = ([], now) }
    }

    func signals(
      _ names: [String],
      limit: Int,
      except taken: [Int64]
    ) async throws -> [(number: Int, name: String, value: [UInt8])] {
      let signals = try await surroundings.run { try await $0.signals(of: row.id, names, limit: limit, except: taken) }
      return try signals.map { signal in
        let value = try surroundings.payloads.decode(String(decoding: signal.value, as: UTF8.self), of: row.id)
        return (number: signal.number, name: signal.name, value: Array(value.utf8))
      }
    }
  }

  /// Ends an attempt at a stage, or stops a chain, until other jobs have ended, or a wait is over.
  struct JobSuspension: Error, CustomStringConvertible {
    let ending: Ending

    private init(_ ending: Ending) { self.ending = ending }

    init(children: [String]) { ending = Ending(state: .waiting, waitsFor: children, isUncounted: true) }

    /// A job that waits for nothing any more is queued: it was stopped while it waited for a slot.
    ///
    /// One that waits for its children alone has a state of its own; another one is resumed by whatever comes first.
    init(_ waits: [DurableWait], now: Double = 0) {
      guard !waits.isEmpty else {
        self = JobSuspension(Ending(state: .queued, isUncounted: true))
        return
      }
      let children = waits.map(\.children).filter { !$0.isEmpty }
      if waits.count == 1, waits[0].end == nil, let ids = children.first {
        self = JobSuspension(children: ids)
        return
      }
      // Only signals end waits without an end.
      var end = waits.compactMap(\.end).min().map { Double($0) / 1_000 } ?? .infinity
      // The last child of all waits resumes the job, which one of the waits may be over before.
      if children.count > 1 { end = min(end, now + 60) }
      let signals = waits.flatMap(\.signals)
      var ending = Ending(state: .scheduled, waitsFor: signals, end: end, isUncounted: true)
      if !children.isEmpty { ending.children = children.flatMap(\.self) }
      self = JobSuspension(ending)
    }

    var description: String { "The job waits; do not catch this error." }
  }
#endif
