// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// What a worker does with its slots, as a pure value: one method for each event.
  ///
  /// A slot is taken from the claim until the job has run in this process, even if the worker lost it in between. What is
  /// stored of its end takes no slot: the next claim does not wait for it.
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

    private struct Running: Sendable {
      let id: String
      var interruption: Interruption?
      /// Whether the job only waits, and takes no slot.
      var isParked = false
    }

    let slots: Int
    /// The number of jobs that may be parked.
    let parkLimit: Int
    private(set) var parkedCount = 0
    /// The jobs that have run, and whose ends are being stored.
    private(set) var endings: Set<Int64> = []
    /// Parked jobs whose waits are over, in the order in which they ended.
    private var wakers: [Int64] = []
    /// The number of the registration, under which jobs are claimed; nil while there is none.
    private(set) var worker: Int64?
    private(set) var isDraining = false
    /// Whether a claim may have committed whose answer was lost: the next one sends what is known.
    private var isUncertain = false
    /// By fencing number.
    private var running: [Int64: Running] = [:]

    /// The number of jobs to claim at most: half after a claim whose answer did not arrive, as it may be too large for the
    /// connection, and one more after each that did.
    private var claimSize: Int

    init(slots: Int, parkLimit: Int = 0) {
      self.slots = slots
      self.parkLimit = parkLimit
      claimSize = slots
    }

    var isEmpty: Bool { running.isEmpty }

    /// The fencing numbers of the worker's jobs: all others that the database has for it are a lost answer.
    var known: [Int64] { running.filter { $0.value.interruption != .loss }.keys.sorted() }

    /// The worker is registered under a number.
    mutating func registered(_ worker: Int64) { self.worker = worker }

    /// The number of jobs to claim now; nil for no claim.
    ///
    /// A claim of none returns jobs of a lost answer to the queue.
    func claimable() -> (worker: Int64, count: Int)? {
      let free = slots - activeCount - wakers.count
      guard let worker, !isDraining else { return nil }
      guard free > 0, endings.count <= 4 * slots else { return isUncertain ? (worker, 0) : nil }
      return (worker, min(claimSize, free))
    }

    /// The number of jobs that take a slot.
    private var activeCount: Int { running.count - parkedCount - endings.count }

    /// A job only waits; returns false when it may not be parked.
    mutating func park(_ fence: Int64) -> Bool {
      guard !isDraining, worker != nil, parkedCount < parkLimit, running[fence]?.isParked == false else { return false }
      running[fence]?.isParked = true
      parkedCount += 1
      return true
    }

    /// A job works again; returns whether it has a slot, and false when `admitted` is to return it.
    mutating func unpark(_ fence: Int64) -> Bool {
      guard running[fence]?.isParked == true else { return true }
      if !wakers.contains(fence) { wakers.append(fence) }
      return false
    }

    /// Returns the parked jobs that have a slot again; when the worker stops, all whose waits are over.
    mutating func admitted() -> [Int64] {
      var fences: [Int64] = []
      while !wakers.isEmpty, isDraining || worker == nil || activeCount < slots {
        let fence = wakers.removeFirst()
        running[fence]?.isParked = false
        parkedCount -= 1
        fences.append(fence)
      }
      return fences
    }

    /// A claim is sent, while no other is under way; returns the known fencing numbers if an answer was lost.
    mutating func claimSent() -> [Int64]? {
      defer { isUncertain = false }
      return isUncertain ? known : nil
    }

    /// A claim was answered, or is no longer waited for.
    mutating func claimOver(isAnswered: Bool) {
      if !isAnswered { isUncertain = true }
      claimSize = isAnswered ? min(slots, claimSize + 1) : max(1, claimSize / 2)
    }

    /// The database has fencing numbers for this worker that it may not know; the next claim sends those that it does.
    mutating func found(_ fences: [Int64]) { if fences.contains(where: { running[$0] == nil }) { isUncertain = true } }

    /// A claim under a registration was answered; jobs of a registration that has been lost since are not begun.
    ///
    /// Returns the fencing numbers of the jobs to start; nil when a number was issued twice, because the database was
    /// restored, or lost its last transactions.
    mutating func claimed(
      _ jobs: [(fence: Int64, id: String, isCancellationRequested: Bool)],
      by worker: Int64
    ) -> Set<Int64>? {
      guard worker == self.worker else { return [] }
      guard !jobs.contains(where: { running[$0.fence] != nil }) else { return nil }
      for job in jobs {
        running[job.fence] = Running(id: job.id, interruption: job.isCancellationRequested ? .cancellation : nil)
      }
      return Set(jobs.map(\.fence))
    }

    /// The cancellation of a job was requested; returns its fencing number if it is to be cancelled here.
    mutating func cancellationRequested(of id: String) -> Int64? {
      // The attempt before a retry may still be ending here.
      let fence = running.first { $0.value.id == id && $0.value.interruption == nil && !endings.contains($0.key) }?.key
      if let fence { running[fence]?.interruption = .cancellation }
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

    /// A job has run, and its end is about to be stored; its slot is free.
    mutating func ending(_ fence: Int64) {
      if running[fence]?.isParked == false { endings.insert(fence) }
    }

    /// A job has ended in this process, and the database knows or will never know.
    mutating func ended(_ fence: Int64) {
      if running.removeValue(forKey: fence)?.isParked == true { parkedCount -= 1 }
      endings.remove(fence)
      wakers.removeAll { $0 == fence }
    }
  }
#endif
