// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetOverviewTests {
    let test = TestFleet()
    let name = StageCoder<Work>().name

    @Test(arguments: [true, false])
    func `No job of a paused name starts until it is resumed`(hasLimits: Bool) async throws {
      let journal = Journal()
      let work = Work.script { id, _, _ in journal.add(id) }
      let fleet = test.fleet()
      fleet.register(Work.self, limits: hasLimits ? FleetLimits(running: 4) : .none)
      fleet.register(Plain.self)
      #expect(try await fleet.pause(name))
      #expect(try await !fleet.pause(name))
      try await fleet.enqueue(work, id: "paused")
      #expect(try await fleet.status(of: "paused")?.isPaused == true)
      try await test.withWorkers([fleet]) { () async throws in
        // The later job ends first.
        try await fleet.enqueue(Plain(), id: "other")
        #expect(try await fleet.result(of: "other", as: Plain.self) == 1)
        #expect(try await fleet.status(of: "paused")?.state == .queued)
        #expect(try await fleet.resume(name))
        #expect(try await fleet.result(of: "paused", as: Work.self) == 3)
      }
      #expect(try await !fleet.resume(name))
      #expect(try await fleet.status(of: "paused")?.isPaused == false)
      #expect(Set(journal.all) == ["paused"])
    }

    @Test
    func `Pages hold all jobs that match, once, in the order of their ids`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 1, backoff: .none))
      let failing = Work.script { id, _, _ in throw Failure(text: "\(id) timed out") }
      try await fleet.enqueue((0..<25).map { (id: "bad-\($0)", progression: failing) })
      try await fleet.enqueue((0..<25).map { (id: "good-\($0)", progression: Work.script()) })
      try await test.withWorkers([fleet]) { () async throws in
        for id in 0..<25 {
          await #expect(throws: FleetError.self) { try await fleet.result(of: "bad-\(id)", as: Work.self) }
        }
        try await fleet.waitUntilDone(25)
      }
      try await fleet.enqueue(Plain(), id: "plain", options: FleetOptions(priority: 7, key: "a key"))
      func all(_ states: Set<FleetState> = [], _ name: String? = nil, _ text: String? = nil) async throws
        -> [FleetStatus]
      {
        var jobs: [FleetStatus] = []
        var last: String?
        repeat {
          let page = try await fleet.jobs(in: states, named: name, containing: text, after: last, limit: 10)
          #expect(page.jobs.count == 10 || page.next == nil)
          jobs += page.jobs
          last = page.next
        } while last != nil
        return jobs
      }
      let everything = try await all()
      #expect(everything.map(\.id) == everything.map(\.id).sorted())
      #expect(everything.count == 51)
      #expect(try await all([.failed]).map(\.error) == everything.filter { $0.state == .failed }.map(\.error))
      #expect(try await all([.failed, .queued]).count == 26)
      #expect(try await all([], StageCoder<Plain>().name).map(\.priority) == [7])
      #expect(try await all([], nil, "a key").map(\.id) == ["plain"])
      #expect(try await all([.failed], name, "bad-24 timed").map(\.id) == ["bad-24"])
      #expect(try await all([], nil, "od-2").map(\.id) == everything.map(\.id).filter { $0.contains("od-2") })
      let done = try #require(try await fleet.status(of: "good-1"))
      let times = [done.enqueuedAt, try #require(done.startedAt), try #require(done.endedAt)]
      #expect(times == times.sorted())
    }

    @Test
    func `The overview has counts, workers, oldest jobs, activity and history`() async throws {
      let fleet = test.fleet()
      fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 1, backoff: .none))
      fleet.register(Plain.self)
      try await fleet.enqueue((0..<3).map { (id: "\($0)", progression: Work.script()) })
      try await fleet.enqueue(Work.script { _, _, _ in throw Failure(text: "failed") }, id: "3")
      try await fleet.enqueue(Orphan(), id: "orphan", options: FleetOptions(start: .at(Date(timeIntervalSince1970: 1))))
      try await fleet.pause("Nothing")
      let names = try await test.withWorkers([fleet]) { () async throws -> [FleetNameStatus] in
        try await fleet.waitUntilDone(3)
        try await fleet.waitForState(.failed, of: "3")
        let worker = try #require(try await fleet.workers().first)
        #expect(worker.leaseRemaining > .zero && worker.leaseRemaining <= .seconds(60))
        return try await fleet.names()
      }
      let byName = Dictionary(uniqueKeysWithValues: names.map { ($0.name, $0) })
      #expect(byName[name]?.counts == [.done: 3, .failed: 1])
      #expect(byName[name]?.workerCount == 1)
      #expect(byName[name]?.oldestQueued == nil)
      let orphan = byName[StageCoder<Orphan>().name]
      #expect(orphan?.counts == [.queued: 1])
      #expect(orphan?.workerCount == 0)
      #expect(orphan?.oldestQueued ?? .zero > .seconds(1_000_000))
      #expect(byName[StageCoder<Plain>().name]?.counts == [:])
      #expect(byName["Nothing"]?.isPaused == true)
      #expect(names.map(\.name) == names.map(\.name).sorted())
      #expect(
        try await fleet.names(endedWithin: .zero).allSatisfy { $0.counts[.done] == nil && $0.counts[.failed] == nil }
      )

      let activity = try await fleet.activity(per: .seconds(3_600))
      #expect(activity.map(\.doneCount).reduce(0, +) == 3)
      #expect(activity.map(\.failedCount).reduce(0, +) == 1)
      #expect(
        activity.allSatisfy { $0.median ?? .zero <= $0.percentile99 ?? .zero && $0.percentile99 ?? .zero > .zero }
      )
      let history = try await fleet.history(of: "1")
      #expect(history.map(\.number) == [1, 2, 3])
      #expect(history.last?.json.contains("\"step\":3") == true)
      #expect(history.map(\.savedAt) == history.map(\.savedAt).sorted())
    }
  }

  private struct Plain: Progression, Codable {
    var step = 0
    var result: Int? { step == 1 ? step : nil }
    func next() async throws -> Plain { Plain(step: step + 1) }
  }

  /// A progression that no worker has registered.
  private struct Orphan: Progression, Codable {
    var result: Int? { nil }
    func next() async throws -> Orphan { self }
  }
#endif
