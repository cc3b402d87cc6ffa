// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  @testable import StepwiseFleet

  /// What the database does for a fleet, as a value: one method for each statement of the protocol.
  struct FleetModel: Equatable {
    struct Job: Equatable {
      var state = FleetState.queued
      var priority: Int
      /// The place in the order of equal priorities, instead of a time.
      var runAt: Int
      var attempt = 0
      /// How many of them were deaths of workers.
      var deaths = 0
      var maxAttempts = 1
      var worker: Int64?
      var fence: Int64 = 0
      var version: Int64 = 1
      var isCancellationRequested = false
      var children: [String] = []
    }

    var jobs: [String: Job] = [:]
    /// Those that have a lease, or whose lease is over without a sweep having seen it.
    var workers: [Int64: Bool] = [:]
    private(set) var fence: Int64 = 0
    private var time = 0

    mutating func enqueue(_ id: String, priority: Int) -> Bool {
      time += 1
      guard jobs[id] == nil else { return false }
      jobs[id] = Job(priority: priority, runAt: time)
      return true
    }

    mutating func register(_ worker: Int64) { workers[worker] = true }

    mutating func expire(_ worker: Int64) { if workers[worker] != nil { workers[worker] = false } }

    func renew(_ worker: Int64) -> Bool { workers[worker] == true }

    mutating func makeDue(_ id: String) {
      time += 1
      if jobs[id]?.state == .scheduled { jobs[id]?.runAt = time }
    }

    /// Claims jobs, each with the next fencing number.
    mutating func claim(
      _ count: Int,
      as worker: Int64,
      knowing known: [Int64]?,
      maxAttempts: Int
    ) -> [(id: String, fence: Int64, isCancellationRequested: Bool)] {
      guard workers[worker] == true else { return [] }
      for (id, job) in jobs
      where job.state == .running && job.worker == worker && known?.contains(job.fence) == false {
        jobs[id]?.state = job.isCancellationRequested ? .cancelled : .queued
        jobs[id]?.worker = nil
        jobs[id]?.attempt -= 1
      }
      for (id, job) in jobs where job.state == .scheduled && job.runAt <= time { jobs[id]?.state = .queued }
      let chosen = jobs.filter { $0.value.state == .queued }
        .sorted { ($1.value.priority, $0.value.runAt) < ($0.value.priority, $1.value.runAt) }
        .prefix(count).map(\.key)
      return chosen.map { id in
        fence += 1
        jobs[id]?.state = .running
        jobs[id]?.worker = worker
        jobs[id]?.fence = fence
        jobs[id]?.attempt += 1
        jobs[id]?.maxAttempts = maxAttempts
        return (id, fence, jobs[id]?.isCancellationRequested ?? false)
      }
    }

    /// Adopts the fencing number that the database gave a job.
    mutating func adopt(_ fence: Int64, of id: String) {
      jobs[id]?.fence = fence
      self.fence = max(self.fence, fence)
    }

    mutating func save(_ id: String, fence: Int64, version: Int64, isLast: Bool) -> Bool {
      guard let job = jobs[id], job.fence == fence, job.state == .running || job.state == .done else { return false }
      if job.version == version { return true }
      guard job.state == .running, job.version == version - 1 else { return false }
      jobs[id]?.version = version
      jobs[id]?.attempt = 1
      jobs[id]?.deaths = 0
      if isLast { finish(id, .done) }
      return true
    }

    mutating func settle(_ id: String, fence: Int64, _ ending: Ending) -> Bool {
      time += 1
      guard let job = jobs[id], job.fence == fence, job.state == .running else { return false }
      jobs[id]?.worker = nil
      jobs[id]?.children = ending.waitsFor ?? []
      if ending.isUncounted {
        let reachesWait = ending.waitsFor?.isEmpty == false
        jobs[id]?.attempt -= 1 + (reachesWait ? job.deaths : 0)
        if reachesWait { jobs[id]?.deaths = 0 }
      }
      if ending.state == .scheduled { jobs[id]?.runAt = time + 1_000_000 }
      jobs[id]?.state = job.isCancellationRequested && ending.state != .done ? .cancelled : ending.state
      return true
    }

    mutating func cancel(_ id: String) -> Bool {
      guard let job = jobs[id], !job.state.isFinal else { return false }
      jobs[id]?.isCancellationRequested = true
      if job.state != .running { jobs[id]?.state = .cancelled }
      return true
    }

    mutating func requeue(_ id: String) -> Bool {
      time += 1
      guard let job = jobs[id], [.failed, .cancelled].contains(job.state) else { return false }
      jobs[id]?.state = .queued
      jobs[id]?.attempt = 0
      jobs[id]?.deaths = 0
      jobs[id]?.isCancellationRequested = false
      jobs[id]?.runAt = time
      return true
    }

    mutating func sweep() -> Int {
      workers = workers.filter(\.value)
      var count = 0
      for (id, job) in jobs where job.state == .running && job.worker.map({ workers[$0] == nil }) ?? true {
        jobs[id]?.worker = nil
        jobs[id]?.deaths += 1
        jobs[id]?.state =
          job.isCancellationRequested
          ? .cancelled : job.attempt >= job.maxAttempts ? .failed : job.attempt > 1 ? .scheduled : .queued
        count += 1
      }
      for (id, job) in jobs where job.state == .waiting {
        guard job.children.allSatisfy({ jobs[$0]?.state.isFinal ?? true }) else { continue }
        jobs[id]?.state = .queued
        count += 1
      }
      return count
    }

    private mutating func finish(_ id: String, _ state: FleetState) {
      jobs[id]?.state = state
      jobs[id]?.worker = nil
    }
  }

  /// A generator whose numbers are the same for the same seed.
  struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    /// The seed is mixed first: generators of neighbouring seeds would otherwise return the same numbers, one step apart.
    init(seed: UInt64) {
      state = seed
      state = Self.mixed(state &+ 0xD1B5_4A32_D192_ED03)
    }

    mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      return Self.mixed(state)
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
      var mixed = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
      return mixed ^ (mixed >> 31)
    }
  }
#endif
