// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// What a worker does with its slots, as a pure value: one method for each event.
  ///
  /// A slot is taken from the claim until the job has ended in this process, even if the worker lost it in between.
  struct WorkerMachine: Sendable {
    /// Why a job that runs here is cancelled.
    enum Interruption: Sendable, Equatable {
      /// Cancellation was requested by id: the job ends.
      case cancellation
      /// The lease is over: the job may run elsewhere already, and nothing of it is written.
      case loss
      /// The time for draining has passed: the job returns to the queue.
      case drain
    }

    /// What a claim leads to.
    struct Claimed: Equatable {
      /// The fencing numbers of the jobs to start.
      var start: [Int64] = []
      /// Those among them whose cancellation was requested before.
      var cancel: [Int64] = []
    }

    private struct Running: Sendable {
      let id: String
      var interruption: Interruption?
    }

    let slots: Int
    /// The number of the registration, under which jobs are claimed; nil while there is none.
    private(set) var worker: Int64?
    private(set) var isDraining = false
    /// How often a claim was sent or was over; odd while one is under way.
    private(set) var claimEvents = 0
    /// By fencing number.
    private var running: [Int64: Running] = [:]

    /// The number of jobs to claim at most: half after a claim whose answer did not arrive, as it may be too large for the
    /// connection, and one more after each that did.
    private var claimSize: Int

    init(slots: Int) {
      self.slots = slots
      claimSize = slots
    }

    var isEmpty: Bool { running.isEmpty }

    /// The fencing numbers that the database is told of with a claim: all others of this worker are a lost answer.
    var known: [Int64] { running.filter { $0.value.interruption != .loss }.keys.sorted() }

    /// The worker is registered under a number.
    mutating func registered(_ worker: Int64) { self.worker = worker }

    /// The number of jobs to claim now; nil for none.
    func claimable() -> (worker: Int64, count: Int)? {
      guard let worker, !isDraining, running.count < slots else { return nil }
      return (worker, min(claimSize, slots - running.count))
    }

    /// A claim was sent.
    mutating func claimSent() { claimEvents += 1 }

    /// A claim was answered, or is no longer waited for.
    mutating func claimOver(isAnswered: Bool) {
      claimEvents += 1
      claimSize = isAnswered ? min(slots, claimSize + 1) : max(1, claimSize / 2)
    }

    /// Which of the fencing numbers that the database has for this worker are of claims whose answer was lost.
    ///
    /// Without a claim since the database was asked, those that are unknown will never be known.
    func lost(among fences: [Int64], since claimEvents: Int) -> [Int64] {
      guard claimEvents == self.claimEvents, claimEvents.isMultiple(of: 2) else { return [] }
      return fences.filter { running[$0] == nil }
    }

    /// A claim under a registration was answered; jobs of a registration that has been lost since are not begun.
    mutating func claimed(
      _ jobs: [(fence: Int64, id: String, isCancellationRequested: Bool)],
      by worker: Int64
    ) -> Claimed {
      var claimed = Claimed()
      guard worker == self.worker else { return claimed }
      for job in jobs where running[job.fence] == nil {
        running[job.fence] = Running(id: job.id, interruption: job.isCancellationRequested ? .cancellation : nil)
        claimed.start.append(job.fence)
        if job.isCancellationRequested { claimed.cancel.append(job.fence) }
      }
      return claimed
    }

    /// The cancellation of a job was requested; returns its fencing number if it is to be cancelled here.
    mutating func cancellationRequested(of id: String) -> Int64? {
      guard let fence = running.first(where: { $0.value.id == id && $0.value.interruption == nil })?.key else {
        return nil
      }
      running[fence]?.interruption = .cancellation
      return fence
    }

    /// The lease is over; returns the jobs to cancel.
    mutating func lost() -> [Int64] {
      worker = nil
      let fences = running.filter { $0.value.interruption != .loss }.keys.sorted()
      for fence in fences { running[fence]?.interruption = .loss }
      return fences
    }

    /// No further job is claimed, and those that run stop after their present stage.
    mutating func drain() { isDraining = true }

    /// The time for draining has passed; returns the jobs to cancel.
    mutating func drainTimedOut() -> [Int64] {
      let fences = running.filter { $0.value.interruption == nil }.keys.sorted()
      for fence in fences { running[fence]?.interruption = .drain }
      return fences
    }

    /// Why a job is interrupted; nil when it is not.
    func interruption(of fence: Int64) -> Interruption? { running[fence]?.interruption }

    /// A job has ended in this process, and the database knows or will never know; its slot is free.
    mutating func ended(_ fence: Int64) { running[fence] = nil }
  }
#endif
