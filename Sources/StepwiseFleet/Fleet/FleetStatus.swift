// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  #if canImport(FoundationEssentials)
    public import FoundationEssentials
  #else
    public import Foundation
  #endif

  /// The state of a job of a fleet: queued, running, waiting, or ended.
  public struct FleetState: Hashable, Sendable, CustomStringConvertible {
    /// The word in the table.
    public let description: String

    init(_ description: String) { self.description = description }

    /// A worker may claim the job, unless its name is paused.
    public static let queued = FleetState("queued")
    /// The job is queued at its time: it was delayed, is retried, or was stopped until the end of a wait or a signal.
    public static let scheduled = FleetState("scheduled")
    /// A worker runs the job, or keeps it in memory while it sleeps or waits for a signal.
    public static let running = FleetState("running")
    /// The job waits for its children, and no worker is held.
    public static let waiting = FleetState("waiting")
    /// The job has a result.
    public static let done = FleetState("done")
    /// The job is dead-lettered.
    public static let failed = FleetState("failed")
    /// The job was cancelled; a chain is undone before.
    public static let cancelled = FleetState("cancelled")

    /// All states, in the order of a job's life.
    public static let all: [FleetState] = [.queued, .scheduled, .running, .waiting, .done, .failed, .cancelled]

    /// A Boolean value that indicates whether the job has ended.
    public var isFinal: Bool { [.done, .failed, .cancelled].contains(self) }
  }

  /// Shows how a job is doing: its state, its worker, its attempts and its error, without its stages.
  ///
  /// Times are by the database's clock.
  public struct FleetStatus: Hashable, Sendable {
    /// The id.
    public let id: String
    /// The name of the progression's type, or that of the chain with `chain` in front of it.
    public let progression: String
    /// What becomes of the job next.
    public let state: FleetState
    /// A Boolean value that indicates whether the name is paused, so that no worker starts the job.
    public let isPaused: Bool
    /// The number of attempts at the present stage, the running one included.
    public let attempt: Int
    /// The number of stages that were saved, the first one included.
    public let stageCount: Int
    /// The number of the worker that runs the job; nil when none does.
    public let worker: Int64?
    /// The text of the last error; nil when the present stage has not failed.
    public let error: String?
    /// What the job's code says of itself, by ``FleetJob/setNote(_:)``; nil when it says nothing.
    public let note: String?
    /// A Boolean value that indicates whether the job is cancelled as soon as its stage ends.
    public let isCancellationRequested: Bool
    /// Why the job was cancelled, if a reason was given.
    public let cancellationReason: String?
    /// The priority.
    public let priority: Int
    /// The key, if it has one.
    public let key: String?
    /// The tags, in their order.
    public let tags: [String]
    /// The id of the job that enqueued it as a child; nil for other jobs.
    public let parent: String?
    /// When the job was enqueued.
    public let enqueuedAt: Date
    /// When the job is or was due: its start, its last retry, or the end of its wait; nil for a wait without a
    /// limit.
    public let dueAt: Date?
    /// When a worker started it for the first time; nil before.
    public let startedAt: Date?
    /// When it ended; nil before.
    public let endedAt: Date?
    /// A Boolean value that indicates whether ``Fleet/requeue(_:)`` queues the job again: it failed or was cancelled.
    public let isRequeueable: Bool
    /// A Boolean value that indicates whether a cancellation changes the job: it has not ended, or it is a chain
    /// that failed and has steps to undo.
    public let isCancellable: Bool
    /// A Boolean value that indicates whether the job is a chain that failed or was cancelled and has undone its steps.
    ///
    /// ``Fleet/requeue(_:)`` starts a new run of it, with its input.
    public let isUndone: Bool
    /// Why the job does not run; nil when it runs or has ended.
    public let wait: FleetWait?
    /// When the job itself was paused; nil when it is not.
    ///
    /// One that runs continues until its attempt ends.
    public let pausedAt: Date?
  }

  /// An error of a job that has no result, or that cannot be enqueued.
  ///
  /// Further cases may be added, so end a `switch` over it with `default`.
  public enum FleetError: Error, Hashable, Sendable {
    /// The fleet has no job with this id.
    case notFound(id: String)

    /// The job is dead-lettered: every attempt at its stage failed, the last one with this error.
    case failed(id: String, error: String)

    /// The job was cancelled, for this reason if one was given.
    case cancelled(id: String, reason: String?)

    /// The id is empty, longer than 200 bytes or contains a NUL.
    case invalidID(id: String)

    /// A stage, a key or a schedule cannot be stored.
    case unstorable(id: String, reason: String)

    /// The job is of another progression type than that named.
    case foreignType(id: String, stored: String, expected: String)

    /// The stored stage is not one of the type.
    case unknownShape(id: String, reason: String)

    /// What the job has stored was encoded by a codec with this name, which the fleet does not have.
    ///
    /// Add it to the ``FleetConfiguration``, as its codec or to the previous ones.
    case unknownCodec(id: String, codec: String)

    /// The codec with this name threw an error for what it has encoded, for example because its key is another one.
    case undecodable(id: String, codec: String, reason: String)

    /// The job has ended, in this state, and receives no signal.
    case ended(id: String, state: FleetState)

    /// The job waits for this signal in this process, as a value of this type, which the one that was sent is not.
    case foreignSignal(id: String, signal: String, expected: String)

    /// A step of a chain called what only a stage of a progression can: `waitForChildren`, `waitForSignal` or `sleep` of
    /// ``FleetJob``.
    case needsStage(id: String)

    /// The code waits for a signal, and is not a step of a chain on a fleet.
    case outsideFleet(signal: String)

    /// The code waits for any of no signals: that wait would never end.
    case noSignals(wait: String)

    /// The code starts children with `step(_:children:)`, and is not between the steps of a chain on a fleet.
    case childrenOutsideFleet(step: String)

    /// Two children of a step have the same id.
    case repeatedChild(step: String, id: String)

    /// A chain that failed cannot be continued from its failed step, for this reason.
    case notContinuable(id: String, reason: String)

    /// The cron expression or the time zone of a schedule is not valid, or there is no such schedule.
    case invalidSchedule(name: String, reason: String)

    /// A change by filter is not made.
    case refused(reason: String)

    /// The tag is malformed, for this reason.
    case invalidTag(tag: String, reason: String)

    /// The filter names a tag that no job of the fleet has.
    case unknownTag(tag: String)

    /// The call writes in a transaction of PostgreSQL, and the fleet is in memory.
    case needsPostgres(call: String)
  }

  extension FleetError: CustomStringConvertible {
    /// The id, the cause and, where there is one, the remedy.
    public var description: String {
      switch self {
      case .notFound(let id): "job \"\(id)\" does not exist; it was never enqueued, or it was pruned"
      case .failed(let id, let error):
        "job \"\(id)\" failed: \(error); call requeue(_:) to run it again, or continue(_:) if its chain is held"
      case .cancelled(let id, let reason): "job \"\(id)\" was cancelled\(reason.map { ": \($0)" } ?? "")"
      case .invalidID(let id): "job \"\(id)\": an id has 1 to 200 bytes of UTF-8 and no NUL"
      case .unstorable(let id, let reason): "job \"\(id)\" cannot be stored: \(reason)"
      case .foreignType(let id, let stored, let expected): "job \"\(id)\" is a \(stored), not a \(expected)"
      case .unknownShape(let id, let reason): "job \"\(id)\" has a stage that cannot be read: \(reason)"
      case .unknownCodec(let id, let codec):
        "job \"\(id)\" was encoded by the codec \"\(codec)\", which this fleet does not have; pass it to FleetConfiguration, "
          + "as codec or in previous"
      case .undecodable(let id, let codec, let reason):
        "job \"\(id)\": the codec \"\(codec)\" cannot decode it: \(reason); use a codec of this name that can"
      case .ended(let id, let state): "job \"\(id)\" is \(state) and receives no signal"
      case .foreignSignal(let id, let signal, let expected):
        "job \"\(id)\" waits for signal \"\(signal)\" as a value of the type \(expected), which this one is not"
      case .needsStage(let id):
        "job \"\(id)\" is a chain: wait with step(_:waitFor:) and step(_:sleep:), which are steps themselves"
      case .outsideFleet(let signal): "signal \"\(signal)\": only a step of a chain on a fleet can wait for it"
      case .noSignals(let wait): "wait \"\(wait)\" names no signal; pass at least one to waitForAny"
      case .childrenOutsideFleet(let step):
        "step \"\(step)\" starts children: only a chain on a fleet can, between its steps; enqueue them as jobs elsewhere"
      case .repeatedChild(let step, let id):
        "step \"\(step)\" has two children with the id \"\(id)\"; each needs its own"
      case .notContinuable(let id, let reason): "job \"\(id)\" cannot be continued: \(reason)"
      case .invalidSchedule(let name, let reason): "schedule \"\(name)\": \(reason)"
      case .invalidTag(let tag, let reason): "tag \"\(tag)\": \(reason)"
      case .unknownTag(let tag): "nothing was changed: no job of the fleet has the tag \"\(tag)\""
      case .needsPostgres(let call):
        "\(call) needs PostgreSQL, and this fleet is in memory; in a test, call enqueue(_:id:)"
      case .refused(let reason): "nothing was changed: \(reason)"
      }
    }
  }

  /// Reports what happens in a worker, for your logs and metrics.
  ///
  /// Further cases may be added, so end a `switch` over it with `default`.
  public enum FleetEvent: Sendable {
    /// The worker has a lease, under this number.
    case registered(worker: Int64)

    /// The worker claimed jobs.
    case claimed(ids: [String], within: Duration)

    /// A stage of a job is stored: the number of stages, and whether the job has its result.
    case saved(id: String, stageCount: Int, isLast: Bool)

    /// An attempt ended other than with a stage that ``saved(id:stageCount:isLast:)`` reports: with the job's next state, and
    /// the error if it failed. A chain ends so in each case, also when it is done.
    case ended(id: String, progression: String, state: FleetState, attempt: Int, error: (any Error)?)

    /// A step skipped a signal that it cannot read; ``Fleet/refusedSignals(of:)`` returns it.
    case signalRefused(id: String, signal: String, error: any Error)

    /// The worker lost its lease: these jobs are cancelled here, and run elsewhere.
    case leaseLost(ids: [String])

    /// This worker freed jobs of workers that died.
    case freed(jobCount: Int)

    /// This worker removed jobs that were older than ``FleetConfiguration/retention``.
    case pruned(jobCount: Int)

    /// The worker could not claim jobs; it tries again unless the error is permanent.
    case claimFailed(any Error)

    /// The worker could not register, renew its lease, or look for cancellations and schedules, or was refused a write; it
    /// tries again unless the error is permanent.
    case heartbeatFailed(any Error)
  }
#endif
