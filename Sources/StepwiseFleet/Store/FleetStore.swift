// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  /// What a fleet stores its jobs in: PostgreSQL, or a test's memory.
  ///
  /// Each operation is one transaction, and has the same effect when it is repeated. Times are by the store's clock.
  protocol FleetStore: Sendable {
    /// The clock by which the process waits.
    var clock: FleetClock { get }

    /// Passes on what changes report, until it is not needed: "q" with the number of a worker for which there may be jobs, "c"
    /// with the id of a job that runs and is cancelled, and "s" with that of one that has news; nil when some may be missed.
    func listen(while isNeeded: @escaping @Sendable () -> Bool, _ receive: @escaping FleetHub.Call)

    /// Waits until something may be due, at most for an interval.
    func waitUntilDue(upTo poll: Duration) async

    // Enqueuing.

    /// Adds jobs, and returns their number and whether one is queued.
    func enqueue(_ jobs: NewJobs) async throws -> (count: Int, isReady: Bool)
    /// Adds jobs, and returns their ids and whether one is queued.
    func enqueueEach(_ jobs: NewJobs) async throws -> (added: [String], isReady: Bool)
    /// Returns the first job that has an id of a batch and is of another type.
    func foreignJob(in batch: FleetBatch) async throws -> (id: String, name: String)?
    /// Returns a statement that adds jobs in another transaction.
    func statement(for jobs: NewJobs) throws -> FleetStatement
    /// Notifies workers of queued jobs.
    func announce(_ counts: [(name: String, count: Int)]) async throws

    // Signals.

    func send(_ signal: SignalText, to id: String) async throws -> SignalAnswer
    /// Adds a job, unless there is one, and sends it a signal.
    func start(_ job: NewJobs, sending signal: SignalText) async throws -> (isAdded: Bool, answer: SignalAnswer)
    /// Notifies the observers of jobs, without waiting.
    func notify(_ ids: [String])
    func dropSignals(_ name: String, of id: String, message: String?) async throws -> Int
    func refusedSignals(of id: String) async throws -> [FleetRefusedSignal]

    // Control.

    func cancel(_ ids: [String], reason: String?) async throws -> Int
    func pause(_ name: String) async throws -> Bool
    func resume(_ name: String) async throws -> Bool
    func pauseJob(_ id: String) async throws -> Bool
    /// Returns the name and the state of the job, if it was paused.
    func resumeJob(_ id: String) async throws -> (name: String, state: FleetState)?
    /// Returns the name of the added job, nil if the id is taken; nil when there is no such stage.
    func fork(_ id: String, fromStage number: Int, as newID: String) async throws -> String??
    /// Removes at most 1,000 jobs.
    func prune(olderThan age: Duration, states: Set<FleetState>) async throws -> Int
    func count(_ change: FleetChange, to filter: FleetFilter) async throws -> ChangeCounts
    /// Returns the ids of at most so many jobs that a change applies to and that were enqueued by a time, in order.
    func ids(
      of change: FleetChange,
      to filter: FleetFilter,
      after last: String,
      enqueuedBy time: Double,
      limit: Int
    ) async throws -> [String]
    func hasJob(tagged tag: String) async throws -> Bool
    func requeue(_ ids: [String]) async throws -> [ChangedName]
    func prioritize(_ ids: [String], _ priority: Int) async throws -> [ChangedName]
    /// Removes jobs to which ``FleetChange/prune`` applies, and returns their number.
    func remove(_ ids: [String]) async throws -> Int

    // What is stored of a job.

    func statuses(of ids: [String]) async throws -> [FleetStatus]
    /// Returns the state, and has news of the job reported for a minute if it has not ended.
    func watch(_ id: String) async throws -> FleetStatus?
    func end(of id: String) async throws -> (shape: Int, stage: String?, first: String)?
    /// Returns at most 100 stages.
    func stages(of id: String, after version: Int64) async throws -> [(version: Int64, shape: Int, stage: String)]
    /// Returns the ends of jobs; nil while one has not ended.
    func ends(of ids: [String]) async throws -> [JobEnd]?
    func entries(of id: String) async throws -> [StoredEntry]
    /// What there is to continue, or to undo, of jobs.
    func runs(of ids: [String]) async throws -> [StoredRun]
    /// Queues a failed job with an entry in place of its own; returns its name if the fencing number is the present one.
    func `continue`(_ id: String, _ fence: Int64, _ number: Int64, _ entry: [UInt8]) async throws -> String?
    /// Queues a job that is done, and cancels it, with an entry in place of its own; returns its name.
    func reopen(_ id: String, _ fence: Int64, _ number: Int64, _ entry: [UInt8], reason: String) async throws -> String?

    // Overviews.

    func jobs(matching filter: FleetFilter, after last: String?, limit: Int) async throws -> [FleetStatus]
    func deadLetters(limit: Int) async throws -> [FleetStatus]
    func counts() async throws -> [FleetState: Int]
    func names(endedWithin age: Duration?) async throws -> [FleetNameStatus]
    func workers() async throws -> [FleetWorkerStatus]
    func activity(within age: Duration, per period: Duration, named name: String?) async throws -> [FleetActivity]
    func history(of id: String) async throws -> [FleetStageRecord]
    func attempts(of id: String) async throws -> [FleetAttempt]
    func errors(limit: Int) async throws -> [FleetErrorGroup]

    // Schedules.

    func knowsTimeZone(_ name: String) async throws -> Bool
    /// Returns the first time of a schedule after now and another time, in seconds since 1970; nil for none.
    func next(of cron: CronExpression, in zone: String, after seconds: Double) async throws -> Int64?
    func add(_ schedule: NewSchedule) async throws
    func removeSchedule(_ name: String) async throws
    func dueSchedules() async throws -> [(name: String, cron: String, zone: String, time: Double)]
    /// Moves a schedule on and enqueues its tick, unless another worker has; returns the name of the job.
    func tick(_ name: String, at time: Double, next: Double) async throws -> String?
    func schedules() async throws -> [FleetSchedule]
    func runSchedule(_ name: String) async throws -> (id: String, progression: String)?

    // Workers.

    func setLimits(_ limits: FleetLimits, of name: String) async throws
    func register(_ worker: NewWorker, within limit: Duration) async throws
    /// Renews a lease; returns false when it is over.
    func renew(_ worker: Int64, for lease: Duration, within limit: Duration) async throws -> Bool
    func beat(_ look: WorkerLook, within limit: Duration) async throws -> [FleetFinding?: [(id: String, fence: Int64)]]
    func endLease(of worker: Int64, within limit: Duration) async throws
    func claim(_ claim: ClaimRequest, within limit: Duration) async throws -> [ClaimedRow]
    /// Frees what dead workers held and wakes parents whose children have ended; returns how many jobs that were.
    func sweep(within limit: Duration) async throws -> (freed: Int, woken: Int)
    /// Writes of jobs whose workers still have them.
    func store<Write: FencedWrite>(_ writes: [Write], within limit: Duration) async throws -> [WriteAnswer]

    // A job that a worker runs.

    func cancellationReason(of id: String) async throws -> String?
    func attempt(of id: String) async throws -> Int?
    /// Replaces the entries of a job; returns whether it is still the worker's.
    func replaceEntries(_ claim: JobClaim, _ number: Int64, _ entry: [UInt8]) async throws -> Bool
    func setNote(_ text: String?, of claim: JobClaim) async throws -> Bool
    /// Returns when a wait of the present stage ends, which is stored at its first call, and the rest; nil when the job is lost.
    func deadline(_ name: String, after duration: Duration, of claim: JobClaim) async throws -> (
      end: Double, rest: Double
    )?
    func signals(
      of id: String,
      _ names: [String],
      limit: Int,
      except taken: [Int64]
    ) async throws -> [(number: Int, name: String, value: [UInt8])]
    /// Notes why a signal cannot be read: it ends no wait from then on, and is kept.
    func refuse(_ signal: Int64, of id: String, _ reason: String) async throws
  }

  /// Why a store could not perform an operation.
  protocol FleetStoreError: Error {
    /// A Boolean value that indicates whether the operation will be refused until something else changes.
    var isPermanent: Bool { get }
    /// A Boolean value that indicates whether the condition of the store is the reason, and not the operation.
    var isTemporary: Bool { get }
    /// A Boolean value that indicates whether what was to be written can never be stored.
    var isUnstorable: Bool { get }
  }

  extension PostgresError: FleetStoreError {}

  /// Jobs of one type that are added together.
  struct NewJobs: Sendable {
    let batch: FleetBatch
    let options: FleetOptions
    let parent: String?

    /// - Throws: ``FleetError`` when the options cannot be stored.
    init(_ batch: FleetBatch, _ options: FleetOptions, parent: String? = nil) throws(FleetError) {
      if options.key?.utf8.contains(0) == true {
        throw .unstorable(id: batch.ids.first ?? "", reason: "its key contains a NUL")
      }
      try FleetTags.check(options.tags)
      let seconds = options.start.seconds.value
      // It would never start.
      guard seconds < .infinity else {
        throw .unstorable(id: batch.ids.first ?? "", reason: "it is to start at \(seconds)")
      }
      (self.batch, self.options, self.parent) = (batch, options, parent)
    }
  }

  /// What became of a signal, and the job's state and name.
  enum SignalAnswer: Sendable, Equatable {
    case added(FleetState, name: String)
    /// The job has one with the identity.
    case known
    case ended(FleetState)
    /// The fleet has no such job.
    case unknown
    /// The job is of another type, with this name.
    case foreign(name: String)
  }

  /// What a change by filter would do.
  struct ChangeCounts: Sendable {
    let matched: Int
    let applicable: Int
    /// Whether the filter matches every job.
    let matchesAll: Bool
    /// The time, in seconds since 1970.
    let time: Double
  }

  /// How many jobs of a name a change has changed, and how many of those are queued.
  struct ChangedName: Sendable, Equatable {
    let name: String
    let count: Int
    let queued: Int
  }

  /// What a step of a chain has stored.
  struct StoredEntry: Sendable {
    let number: Int64
    let entry: [UInt8]
    let savedAt: Double?
  }

  /// A job as it is stored, for what continues or undoes it.
  struct StoredRun: Sendable {
    let id: String
    let name: String
    let state: FleetState
    /// Whether a chain has its outcome, and a progression a later stage than the first.
    let hasStage: Bool
    let fence: Int64
    let isCancellationRequested: Bool
    let error: String?

    var isChain: Bool { name.namesChain }
  }

  /// A schedule to store.
  struct NewSchedule: Sendable {
    let name: String
    let cron: String
    let zone: String
    let next: Double
    let job: NewJobs
  }

  /// A worker that begins its lease.
  struct NewWorker: Sendable {
    let id: Int64
    let name: String
    let lease: Duration
    let slots: Int
    let names: [String]
    /// The versions of the names; nil for a worker of an earlier version.
    let versions: [Int64]?
    let tags: FleetTags
  }

  /// What a heartbeat looks for.
  struct WorkerLook: Sendable {
    let worker: Int64
    /// The fencing numbers that the worker knows.
    let known: [Int64]
    /// The names of which the worker could start a job.
    let names: [String]
    let signals: [(id: String, name: String)]
  }

  /// What a heartbeat finds that no notification reported.
  enum FleetFinding: String, Sendable {
    /// Cancellation was requested of a job of the worker.
    case cancelled
    /// The signal has come that a job of the worker waits for.
    case signalled
    /// The worker does not know a fencing number, as the answer to its claim was lost.
    case unknown
    /// There may be jobs to claim.
    case jobs
    /// Workers have died, or children have ended.
    case ends
    /// Schedules are due.
    case ticks
  }

  /// What a worker claims.
  struct ClaimRequest: Sendable {
    let worker: Int64
    /// If there are any, all other jobs of the worker are returned to the queue before.
    let known: [Int64]?
    let count: Int
    let types: [(name: String, version: Int, maxAttempts: Int)]
    let tags: FleetTags
  }

  /// A write that is stored.
  struct WriteAnswer: Sendable {
    let fence: Int64?
    /// The job's id if it is watched.
    var watched: String?
    /// The job's name if it is queued.
    var queued: String?
  }
#endif
