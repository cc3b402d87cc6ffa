// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import StepwiseCheckpoints

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// What a fleet stores, as a value: one method for each operation, which does what the functions and triggers of the
  /// tables do.
  ///
  /// Times are in seconds since 1970.
  struct MemoryFleet: Sendable {
    /// A job, with what is removed with it.
    struct Job: Sendable {
      let id: String
      /// The place among jobs that are due at the same time.
      var seq = 0
      var turn = 0
      var name: String
      var key: String?
      var tags: Set<String> = []
      var priority = 0
      var state = FleetState.queued
      var runAt: Double
      var attempt = 0
      /// How many of them were deaths of workers.
      var deaths = 0
      var maxAttempts = 1
      var worker: Int64?
      var fence: Int64 = 0
      var isCancellationRequested = false
      var cancellationReason: String?
      var keepsStages = true
      var version: Int64 = 1
      var firstShape: Int
      var first: String
      var shape: Int
      /// The last stage, or the outcome of a chain.
      var stage: String?
      var error: String?
      /// The codec that the last worker did not have or that failed.
      var unreadCodec: String?
      var note: String?
      var parent: String?
      /// The jobs, or the signals, that end a wait.
      var waitsFor: [String] = []
      /// The jobs that end a wait which a signal or a time ends as well.
      var children: [String]?
      /// The ends of the waits of a stage.
      var deadlines: (version: Int64, ends: [String: Double]) = (0, [:])
      var createdAt: Double
      var startedAt: Double?
      var finishedAt: Double?
      /// Whether a running job only waits, in its worker's memory, and for which signals.
      var isParked = false
      var parkedFor: [String] = []
      var waitsSince: Double?
      var waitsUntil: Double?
      var pausedAt: Double?
      /// When a paused job was due.
      var pausedRunAt: Double = 0
      var claimedAt: Double?
      var claimedBy: String?
      var attempts: [FleetAttempt] = []
      var stages: [Stage] = []
      var entries: [StoredEntry] = []
      var signals: [Signal] = []

      var isChain: Bool { name.namesChain }

      /// Whether a cancellation changes the job: the dead letter of a chain without an outcome has steps to undo.
      var isCancellable: Bool {
        finishedAt == nil || state == .failed && stage == nil && !isCancellationRequested && fence > 0 && isChain
      }

      /// The order of claims.
      static func isBefore(_ one: Job, _ other: Job) -> Bool {
        one.priority != other.priority
          ? one.priority > other.priority
          : (one.turn, one.runAt, one.seq) < (other.turn, other.runAt, other.seq)
      }

      /// The job has another life under its id.
      mutating func forget(_ seq: Int) {
        self.seq = seq
        (stages, entries, signals) = ([], [], [])
      }
    }

    struct Stage: Sendable {
      let version: Int64
      let shape: Int
      let stage: String
      let savedAt: Double
    }

    struct Signal: Sendable {
      let number: Int64
      let name: String
      let message: String
      var value: String
      var isTaken = false
      /// One that was dropped is kept like one that was received, so that its identity is known.
      var isDropped = false
      /// Why the step that waits for it could not read it.
      var refusal: String?
      let sentAt: Double

      /// Whether it ends a wait.
      var isOpen: Bool { !isTaken && refusal == nil }
    }

    struct Worker: Sendable {
      let id: Int64
      let name: String
      let startedAt: Double
      var isDead = false
      let names: [String: Int64]
      let slots: Int
      let tags: FleetTags
    }

    struct Limit: Sendable {
      var limits: FleetLimits
      var tokens: Double
      var refilledAt: Double

      var period: Double { max(0.001, limits.period / .seconds(1)) }

      func tokens(at now: Double) -> Double {
        let rate = Double(limits.starts ?? 0)
        return min(rate, tokens + (now - refilledAt) * rate / period)
      }
    }

    struct Schedule: Sendable {
      let new: NewSchedule
      var next: Double
    }

    struct Wait: Hashable, Sendable {
      let child: String
      let job: String
    }

    /// Whether the child of a wait has ended, and a sweep has seen that.
    enum WaitState: Sendable { case open, ended, seen }

    /// What happened, for those who listen.
    enum News: Hashable, Sendable {
      /// There may be jobs to claim.
      case jobs
      /// A job that runs is cancelled.
      case cancelled(String)
      /// A job has changed.
      case changed(String)
      /// Something may be due earlier than before.
      case due
    }

    private(set) var jobs: [String: Job] = [:]
    var workers: [Int64: Worker] = [:] { didSet { revision += 1 } }
    var waits: [Wait: WaitState] = [:] { didSet { revision += 1 } }
    var limits: [String: Limit] = [:] { didSet { revision += 1 } }
    var pauses: [String: Double] = [:] { didSet { revision += 1 } }
    var schedules: [String: Schedule] = [:] { didSet { revision += 1 } }
    private var lastSeq = 0
    private var lastFence: Int64 = 0
    private var lastSignal: Int64 = 0
    private(set) var news: Set<News> = []
    /// The number of changes.
    private(set) var revision = 0

    /// A job that is paused is due then.
    static let never: Double = 253_370_764_800

    mutating func takeNews() -> Set<News> {
      defer { news = [] }
      return news
    }

    mutating func report(_ news: News) { self.news.insert(news) }

    mutating func nextSeq() -> Int {
      lastSeq += 1
      return lastSeq
    }

    mutating func nextFence() -> Int64 {
      lastFence += 1
      return lastFence
    }

    mutating func nextSignal() -> Int64 {
      lastSignal += 1
      return lastSignal
    }
  }

  /// Changes of jobs.
  extension MemoryFleet {
    /// Adds a job.
    mutating func insert(_ job: Job) {
      jobs[job.id] = job
      reportChange(of: job, from: nil)
    }

    mutating func delete(_ id: String) {
      jobs[id] = nil
      revision += 1
    }

    /// Changes what concerns no one but the job.
    mutating func note(_ id: String, _ change: (inout Job) -> Void) {
      guard var job = jobs[id] else { return }
      change(&job)
      jobs[id] = job
      revision += 1
    }

    /// Changes a job's state; what depends on it follows.
    mutating func update(_ id: String, at now: Double, _ change: (inout Job) -> Void) {
      guard let old = jobs[id] else { return }
      var new = old
      change(&new)
      Self.hold(&new, from: old, at: now)
      Self.keepPaused(&new)
      jobs[id] = new
      if old.state != new.state { follow(new) }
      reportChange(of: new, from: old)
    }

    private mutating func reportChange(of job: Job, from old: Job?) {
      revision += 1
      if job.state == .queued || old?.state == .running && job.state != .running { report(.jobs) }
      if job.state == .scheduled { report(.due) }
      report(.changed(job.id))
    }

    /// A chain that was claimed may have something to undo: it is cancelled only with its outcome, and queued until then.
    ///
    /// A job that was stopped while it waited is queued if a signal has come that it waits for.
    private static func hold(_ new: inout Job, from old: Job, at now: Double) {
      if new.state == .scheduled, !new.waitsFor.isEmpty {
        let (names, signals) = (new.waitsFor, new.signals)
        if signals.contains(where: { names.contains($0.name) && $0.isOpen }) {
          (new.state, new.runAt) = (.queued, now)
        }
        return
      }
      guard new.state == .cancelled, new.stage == nil, new.fence > 0, new.isChain else { return }
      if old.isCancellationRequested, new.attempt >= new.maxAttempts {
        new.state = .failed
        return
      }
      if !old.isCancellationRequested { new.runAt = now }
      (new.state, new.finishedAt) = (.queued, nil)
    }

    /// A job that is paused is not queued before it is resumed, whatever ends its wait.
    private static func keepPaused(_ job: inout Job) {
      guard job.pausedAt != nil, job.state == .queued || job.state == .scheduled, !job.isCancellationRequested else {
        return
      }
      if job.runAt != never { job.pausedRunAt = job.runAt }
      (job.state, job.runAt) = (.scheduled, never)
    }

    /// Notes what a job waits for, and who waits for one that has ended.
    private mutating func follow(_ job: Job) {
      let awaited: [String]? =
        switch job.state {
        case .waiting: job.waitsFor
        case .scheduled: job.children
        default: nil
        }
      if let awaited {
        let open = Set(awaited).filter { jobs[$0].map { $0.finishedAt == nil } ?? false }
        for child in open { waits[Wait(child: child, job: job.id)] = .open }
        if open.isEmpty { waits[Wait(child: job.id, job: job.id)] = .ended }
        report(.due)
      } else if job.state.isFinal {
        for wait in waits.keys where wait.child == job.id && waits[wait] == .open { waits[wait] = .ended }
        for wait in waits.keys where wait.job == job.id { waits[wait] = nil }
        report(.due)
      }
    }

    /// The time at which something is due; nil when nothing is until something changes.
    func nextDue(after now: Double) -> Double? {
      if workers.values.contains(where: \.isDead) || waits.values.contains(.ended) { return now }
      var due = schedules.values.map(\.next).min() ?? .infinity
      for job in jobs.values {
        switch job.state {
        case .scheduled: due = min(due, job.runAt)
        case .queued:
          guard let limit = limits[job.name], let rate = limit.limits.starts else { continue }
          // A moment later, so that no rounding leaves less than a token.
          let refill = limit.refilledAt + (1 - limit.tokens) * limit.period / Double(rate) + 0.000_001
          if refill > now { due = min(due, refill) }
        default: continue
        }
      }
      return due < Self.never ? due : nil
    }
  }

  extension FleetTags {
    /// Whether a worker with these tags takes a job.
    func takes(_ tags: Set<String>) -> Bool {
      (only.map { !$0.isDisjoint(with: tags) } ?? true) && except.isDisjoint(with: tags)
    }
  }
#endif
