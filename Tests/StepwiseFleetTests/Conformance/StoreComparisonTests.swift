// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import StepwiseTesting
  import Testing

  /// Both stores under the same random operations.
  @Suite(.timeLimit(.minutes(10)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct StoreComparisonTests {
    private static let rounds =
      ProcessInfo.processInfo.environment["STEPWISE_FLEET_OPERATIONS"].flatMap { Int($0) } ?? 300

    @Test(arguments: 0..<4)
    func `The store in memory does what PostgreSQL does under random operations`(seed: Int) async throws {
      var comparison = try await StoreComparison(seed: UInt64(seed))
      for round in 0..<Self.rounds { try await comparison.step(round) }
      #expect(comparison.effects > Self.rounds / 4)
    }
  }

  /// Performs operations on a fleet in memory and on one in PostgreSQL, and compares what they answer and have stored.
  private struct StoreComparison {
    /// A claim in both stores: fencing numbers and workers are different.
    private struct Held {
      let row: [ClaimedRow]
      var entries: Int64 = 1
    }

    private static let limit = Duration.seconds(30)
    private static let ids = (0..<12).map { "job-\($0)" }
    private static let order = Chain("order") { (value: Int) in value }
    private static let limited = Chain("limited") { (value: Int) in value }
    private static let names = [StageCoder<Work>().name, order.hostedName, limited.hostedName]

    private let clock = ManualClock()
    private let fleets: [Fleet]
    private var workers: [[Int64]] = []
    private var held: [Held] = []
    private var random: StepwiseTesting.SeededGenerator
    private(set) var effects = 0

    init(seed: UInt64) async throws {
      random = StepwiseTesting.SeededGenerator(seed: seed)
      let postgres = TestFleet().fleet(lease: .seconds(86_400))
      fleets = [Fleet(MemoryFleetStore(clock: clock), configuration: postgres.configuration), postgres]
      for fleet in fleets {
        try await fleet.store.setLimits(FleetLimits(running: 3, runningPerKey: 2), of: Self.names[2])
      }
      for _ in 0..<2 { try await register() }
    }

    private mutating func register() async throws {
      var numbers: [Int64] = []
      for fleet in fleets {
        numbers.append(try await fleet.registerWorker(knowing: Self.names, [0, 0, 0], within: Self.limit))
      }
      workers.append(numbers)
    }

    private mutating func one<Element>(of elements: [Element]) -> Element? { elements.randomElement(using: &random) }

    private mutating func chance(_ part: Int) -> Bool { Int.random(in: 0..<part, using: &random) == 0 }

    /// Performs an operation on both, and compares the answers.
    private mutating func both(
      _ what: String,
      _ operation: (_ fleet: Fleet, _ index: Int) async throws -> String
    ) async throws {
      var answers: [String] = []
      for (index, fleet) in fleets.enumerated() {
        do { answers.append(try await operation(fleet, index)) } catch let error as FleetError {
          answers.append("\(error)".prefix { $0 != "," }.description)
        }
      }
      try #require(answers[0] == answers[1], "\(what)")
      if !["", "0", "false", "nil", "[]"].contains(answers[0]) { effects += 1 }
    }

    mutating func step(_ round: Int) async throws {
      // Times are different, and their order is not.
      clock.advance(by: .seconds(1))
      let id = one(of: Self.ids) ?? ""
      let number = Int.random(in: 0..<20, using: &random)
      let what = "round \(round), operation \(number), \(id)"
      switch number {
      case 0...3: try await enqueue(what, id)
      case 4, 5, 6: try await claim(what)
      case 7, 8: try await save(what)
      case 9: try await append(what)
      case 10, 11: try await end(what)
      case 12:
        try await both(what) { fleet, _ in "\(try await fleet.store.cancel([id], reason: "reason"))" }
      case 13:
        let name = one(of: ["approval", "rejection"]) ?? ""
        let message = "\(Int.random(in: 0..<20, using: &random))"
        let signal = try SignalText(1, named: name, id: message, to: id)
        if chance(4) {
          try await both(what) { fleet, _ in "\(try await fleet.store.dropSignals(name, of: id, message: nil))" }
        } else {
          try await both(what) { fleet, _ in "\(try await fleet.store.send(signal, to: id))" }
        }
      case 14:
        let isResumed = chance(2)
        try await both(what) { fleet, _ in
          if isResumed { return "\(String(describing: try await fleet.store.resumeJob(id)))" }
          return "\(try await fleet.store.pauseJob(id))"
        }
      case 15:
        let name = one(of: Self.names) ?? ""
        let isResumed = !chance(4)
        try await both(what) { fleet, _ in
          "\(try await isResumed ? fleet.store.resume(name) : fleet.store.pause(name))"
        }
      case 16:
        try await both(what) { fleet, _ in "\(try await fleet.store.requeue([id]))" }
      case 17:
        let priority = Int.random(in: -1...2, using: &random)
        try await both(what) { fleet, _ in "\(try await fleet.store.prioritize([id], priority))" }
      case 18: try await sweep(what)
      default:
        let states: Set<FleetState> = chance(2) ? [.done] : [.done, .failed, .cancelled]
        if chance(3) {
          try await both(what) { fleet, _ in
            "\(try await fleet.store.prune(olderThan: .zero, states: states))"
          }
        } else {
          let newID = one(of: Self.ids) ?? ""
          try await both(what) { fleet, _ in
            String(describing: try await fleet.store.fork(id, fromStage: 2, as: newID))
          }
        }
      }
      try await compare(what)
    }

    private mutating func enqueue(_ what: String, _ id: String) async throws {
      let ids = Set([id, one(of: Self.ids) ?? ""]).sorted()
      let version = chance(8) ? 1 : 0
      let inputs = ids.map { (id: $0, input: 1) }[...]
      let batches = [
        try FleetBatch(ids.map { (id: $0, progression: Work(script: "", last: 3)) }[...]),
        try FleetBatch(Self.order, version, inputs), try FleetBatch(Self.limited, version, inputs),
      ]
      let batch = one(of: batches) ?? batches[0]
      let options = FleetOptions(
        priority: Int.random(in: 0...1, using: &random),
        key: one(of: [nil, "a", "b", "c"]) ?? nil,
        tags: chance(3) ? ["gpu"] : [],
        start: chance(6) ? .after(.seconds(86_400)) : .now,
        keepsStages: chance(2),
        replacing: chance(3) ? .finished : .nothing
      )
      // No job is its own parent.
      let parent = chance(3) ? one(of: Self.ids.filter { $0 < ids[0] }) : nil
      let jobs = try NewJobs(batch, options, parent: parent)
      try await both(what) { fleet, _ in "\(try await fleet.store.enqueue(jobs))" }
    }

    private mutating func claim(_ what: String) async throws {
      guard let worker = one(of: workers) else { return }
      let count = Int.random(in: 1...2, using: &random)
      let tags = one(of: [FleetTags.all, .all, .only(["gpu"]), .except(["gpu"])]) ?? .all
      let types = Self.names.map { (name: $0, version: 0, maxAttempts: 3) }
      var rows: [[ClaimedRow]] = []
      for (index, fleet) in fleets.enumerated() {
        let request = ClaimRequest(worker: worker[index], known: nil, count: count, types: types, tags: tags)
        rows.append(try await fleet.store.claim(request, within: Self.limit).sorted { $0.id < $1.id })
      }
      let texts = rows.map {
        $0.map { "\($0.id) \($0.name) \($0.attempt) \($0.version) \($0.isCancellationRequested)" }
      }
      try #require(texts[0] == texts[1], "\(what)")
      effects += texts[0].count
      for (one, other) in zip(rows[0], rows[1]) { held.append(Held(row: [one, other])) }
    }

    /// Writes of a job that was claimed, now or earlier; returns what is stored.
    private mutating func write<Write: FencedWrite>(
      _ what: String,
      _ make: (_ row: ClaimedRow) -> Write
    ) async throws -> Bool {
      guard let claim = one(of: held) else { return false }
      var stored: [Bool] = []
      for (index, fleet) in fleets.enumerated() {
        stored.append(!(try await fleet.store.store([make(claim.row[index])], within: Self.limit)).isEmpty)
      }
      try #require(stored[0] == stored[1], "\(what) \(claim.row[0].id)")
      if stored[0] { effects += 1 }
      return stored[0]
    }

    private mutating func save(_ what: String) async throws {
      let (isLast, next) = (chance(3), Int64.random(in: 1...2, using: &random))
      _ = try await write(what) { row in
        StageSave(claim: row.claim, version: row.version + next, shape: 0, stage: "{}", isLast: isLast)
      }
    }

    private mutating func append(_ what: String) async throws {
      let (number, byte) = (Int64.random(in: 2...3, using: &random), UInt8.random(in: 0...1, using: &random))
      if chance(3) {
        _ = try await write(what) { ParkedJob(claim: $0.claim, signals: ["approval"]) }
      } else {
        _ = try await write(what) { EntrySave(claim: $0.claim, number: number, entry: [byte], signals: []) }
      }
    }

    private mutating func end(_ what: String) async throws {
      let far = 9_000_000_000.0
      let children = [one(of: Self.ids) ?? "", one(of: Self.ids) ?? ""]
      var endings = [
        Ending(state: .done, outcome: "{}"),
        Ending(state: .failed, error: "broken"),
        Ending(state: .failed, error: "held", isUncounted: true),
        Ending(state: .cancelled, outcome: "\"\""),
        Ending(state: .cancelled),
        Ending(state: .queued, isUncounted: true),
        Ending(state: .scheduled, delay: .seconds(86_400), error: "later"),
        Ending(state: .queued, error: "again"),
        Ending(state: .waiting, waitsFor: children, isUncounted: true),
        Ending(state: .scheduled, waitsFor: ["approval"], end: far, isUncounted: true),
        Ending(state: .scheduled, waitsFor: ["approval"], end: .infinity, isUncounted: true),
        Ending(state: .scheduled, waitsFor: [], end: far, isUncounted: true),
        Ending(
          state: .scheduled,
          delay: .seconds(86_400),
          error: "unread",
          isUncounted: true,
          unreadCodec: "seal"
        ),
      ]
      endings.append(endings[9])
      endings[endings.count - 1].children = children
      guard let ending = one(of: endings) else { return }
      _ = try await write("\(what) \(ending)") { EndedAttempt(claim: $0.claim, ending: ending) }
    }

    private mutating func sweep(_ what: String) async throws {
      // A job whose second worker dies is delayed by a random time.
      let jobs = try await fleets[0].store.jobs(matching: FleetFilter(states: [.running]), after: nil, limit: 100)
      let second = Set(jobs.filter { $0.attempt > 1 }.compactMap(\.worker))
      let dying = workers.indices.filter { !second.contains(workers[$0][0]) }
      if chance(3), let dead = one(of: dying) {
        for (index, fleet) in fleets.enumerated() {
          try await fleet.store.endLease(of: workers[dead][index], within: Self.limit)
        }
        workers.remove(at: dead)
        try await register()
      }
      try await both(what) { fleet, _ in
        let (freed, woken) = try await fleet.store.sweep(within: Self.limit)
        return freed + woken == 0 ? "" : "\(freed) \(woken)"
      }
    }

    private func compare(_ what: String) async throws {
      var texts: [[String]] = []
      for (index, fleet) in fleets.enumerated() {
        let jobs = try await fleet.store.jobs(matching: FleetFilter(), after: nil, limit: 100)
        let runs = try await fleet.store.runs(of: jobs.map(\.id))
        var lines = zip(jobs, runs).map { job, run in
          let worker = job.worker.flatMap { number in workers.firstIndex { $0[index] == number } }
          let wait = job.wait.map { wait in
            "\(wait.reason) \(wait.details) \(wait.childCount ?? 0) \(wait.openChildCount ?? 0) \(wait.until == nil)"
          }
          return """
            \(job.id) \(job.progression) \(job.state) paused \(job.isPaused) \(job.pausedAt != nil) attempt \(job.attempt) \
            stage \(job.stageCount) worker \(worker ?? -1) error \(job.error ?? "") \(job.isCancellationRequested) \
            \(job.cancellationReason ?? "") priority \(job.priority) key \(job.key ?? "") \(job.tags) \(job.parent ?? "") \
            due \(job.dueAt != nil) \(job.startedAt != nil) \(job.endedAt != nil) \(job.isRequeueable) \(job.isUndone) \
            cancellable \(job.isCancellable) \
            wait \(wait ?? "") run \(run.hasStage)
            """
        }
        for job in jobs {
          let entries = try await fleet.store.entries(of: job.id).map { "\($0.number) \($0.entry)" }
          let stages = try await fleet.store.stages(of: job.id, after: 0).map { "\($0.version)" }
          let attempts = try await fleet.store.attempts(of: job.id).map {
            "\($0.stage) \($0.number) \($0.outcome) \($0.error ?? "")"
          }
          lines.append("\(job.id) \(entries) \(stages) \(attempts)")
        }
        texts.append(lines)
      }
      for (memory, postgres) in zip(texts[0], texts[1]) {
        try #require(memory == postgres, "\(what)\n\(memory)\n\(postgres)")
      }
      try #require(texts[0].count == texts[1].count, "\(what)")
    }
  }
#endif
