// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct FleetTagTests {
    let test = TestFleet()
    let limit = Duration.seconds(30)

    /// A fleet with a worker that has its lease, and takes jobs by their tags.
    private func worker(_ tags: FleetTags, _ limits: FleetLimits = .none) async throws -> (Fleet, Int64) {
      let fleet = test.fleet(lease: .seconds(3_600), tags: tags)
      fleet.register(Work.self, limits: limits)
      let types = fleet.registrations.withLock { $0 }
      try await FleetWorker(fleet, types).declareLimits()
      return (fleet, try await fleet.registerWorker(knowing: Array(types.keys), [0], within: limit))
    }

    /// Claims jobs and ends them; returns their ids in the order of the claims.
    private func claimed(_ count: Int, by worker: (fleet: Fleet, id: Int64)) async throws -> [String] {
      let types = Array(worker.fleet.registrations.withLock { $0.values })
      var ids: [String] = []
      while ids.count < count {
        let rows = try await worker.fleet.claim(2, as: worker.id, knowing: nil, of: types, within: limit)
        if rows.isEmpty { break }
        ids += rows.map(\.id)
        let end = "UPDATE @.jobs SET state = 'done', finished_at = now() WHERE state = 'running'"
        try await worker.fleet.database.run(end)
      }
      return ids
    }

    private func enqueue(_ ids: [String], _ tags: Set<String>, key: String? = nil, in fleet: Fleet) async throws {
      let jobs = ids.map { (id: $0, progression: Work.script()) }
      try await fleet.enqueue(jobs, options: FleetOptions(key: key, tags: tags))
    }

    // G233
    @Test(arguments: [FleetLimits.none, FleetLimits(running: 1_000), FleetLimits(runningPerKey: 1)])
    func `A worker takes only jobs with its tags, and leaves those of others`(limits: FleetLimits) async throws {
      let only = try await worker(.only(["gpu", "tpu"]), limits)
      let except = try await worker(.except(["gpu"]), limits)
      let all = try await worker(.all, limits)
      // Those at the head of the queue are more than a claim looks at.
      try await enqueue((0..<300).map { "p\($0)" }, [], key: "k", in: all.0)
      try await enqueue(["g1", "g2"], ["gpu"], in: all.0)
      try await enqueue(["b"], ["gpu", "eu"], key: "k", in: all.0)
      try await enqueue(["t"], ["tpu"], in: all.0)
      try await enqueue(["e"], ["eu"], in: all.0)
      #expect(try await Set(claimed(5, by: only)) == ["g1", "g2", "b", "t"])
      try await enqueue((3..<200).map { "g\($0)" }, ["gpu"], key: "k", in: all.0)
      let others = try await claimed(1_000, by: except)
      #expect(others.count == 301 && others.contains("e") && !others.contains { $0.hasPrefix("g") })
      #expect(try await claimed(1_000, by: all).count == 197)
    }

    // G233
    @Test
    func `Jobs reach the workers of their tags at once, also by chains, schedules and signals`() async throws {
      let (gpu, rest) = (test.fleet(tags: .only(["gpu"])), test.fleet(tags: .except(["gpu"])))
      let waiting = Chain("waiting") { try await step("go", waitFor: Int.self) }
      for fleet in [gpu, rest] {
        fleet.register(waiting)
        fleet.register(Work.self)
      }
      let journal = Journal()
      let options = FleetOptions(tags: ["gpu"])
      try await rest.schedule("often", cron: "0 3 1 1 *", Work.script(), options: options)
      let ticked = try await rest.runSchedule("often")
      try await rest.enqueue(waiting, id: "w", options: options, sending: 1, signal: "go", signalID: "1")
      try await rest.enqueue(Work.script(), id: "r")
      try await test.withWorkers([gpu]) {
        if case .claimed(let ids, _) = $0 { for id in ids { journal.add("gpu \(id)") } }
      } _: { () async throws in
        try await test.withWorkers([rest]) { () async throws in
          #expect(try await rest.result(of: "w", as: waiting) == 1)
          _ = try await rest.result(of: ticked, as: Work.self)
          _ = try await rest.result(of: "r", as: Work.self)
        }
      }
      #expect(Set(journal.all) == ["gpu w", "gpu \(ticked)"])
      #expect(try await rest.status(of: "w")?.tags == ["gpu"])
    }

    // G234
    @Test
    func `A job that no worker takes says so, and names its tags`() async throws {
      let (fleet, _) = try await worker(.only(["gpu"]))
      try await enqueue(["a"], ["cpu", "eu"], in: fleet)
      try await enqueue(["b"], [], in: fleet)
      try await enqueue(["c"], ["gpu"], in: fleet)
      let waits = try await ["a", "b", "c"].asyncMap { try await fleet.status(of: $0)?.wait }
      #expect(waits.map(\.?.reason) == [.tag, .tag, .slot])
      #expect(waits[0]?.details == ["cpu", "eu"])
      #expect(waits[0].map { "\($0)" } == "a worker that takes its tag cpu, eu")
      #expect(waits[1].map { "\($0)" } == "a worker that takes jobs without a tag")
      _ = try await worker(.except(["gpu"]))
      #expect(try await fleet.status(of: "a")?.wait?.reason == .slot)
    }

    // G235
    @Test
    func `Jobs are changed by tag, and unknown and malformed tags are named`() async throws {
      let fleet = test.fleet()
      try await enqueue(["a", "b"], ["gpu", "tenant:7"], in: fleet)
      try await enqueue(["c"], ["gpu2"], in: fleet)
      let filter = FleetFilter(tag: "tenant:7")
      #expect(try await fleet.jobs(matching: filter).jobs.map(\.id) == ["a", "b"])
      #expect(try await fleet.apply(.cancel(reason: nil), to: filter).changedCount == 2)
      #expect(try await fleet.status(of: "c")?.state == .queued)
      await #expect(throws: FleetError.unknownTag(tag: "gpu3")) {
        try await fleet.apply(.retry, to: FleetFilter(tag: "gpu3"))
      }
      for tag in ["", "a,b", "a b", "ü", String(repeating: "x", count: 256), "\0"] {
        func isRefused(_ body: () async throws -> Void) async throws -> Bool {
          do {
            try await body()
            return false
          } catch FleetError.invalidTag(tag, _) {
            return true
          }
        }
        #expect(try await isRefused { try await enqueue(["x"], [tag], in: fleet) })
        #expect(try await isRefused { _ = try await fleet.jobs(matching: FleetFilter(tag: tag)) })
        #expect(try await isRefused { try await fleet.apply(.retry, to: FleetFilter(tag: tag)) })
        #expect(try await isRefused { try await test.fleet(tags: .except([tag])).work() })
        #expect(
          try await isRefused {
            try await fleet.schedule("s", cron: "* * * * *", Work.script(), options: FleetOptions(tags: [tag]))
          }
        )
      }
      await #expect(throws: FleetError.self) { try await test.fleet(tags: .only([])).work() }
      #expect(try await fleet.status(of: "x") == nil)
    }

    // G236
    @Test
    func `A claim of few tagged jobs behind many others reads no more than one without tags`() async throws {
      let (all, only) = (try await worker(.all), try await worker(.only(["gpu"])))
      try await enqueue((0..<20_000).map { "p\($0)" }, [], in: all.0)
      try await enqueue((0..<500).map { "g\($0)" }, ["gpu"], in: all.0)
      /// The blocks that a claim of 16 jobs reads, in the median of some.
      func blocks(_ worker: (fleet: Fleet, id: Int64)) async throws -> Int {
        let (claim, tags) = worker.fleet.configuration.tags.claimed
        let name = StageCoder<Work>().name
        var blocks: [Int] = []
        for _ in 0..<15 {
          let fences = "ARRAY (SELECT fence FROM @.jobs WHERE state = 'running')"
          let last = tags.isEmpty ? "" : ", '{gpu}'"
          let call = "@.\(claim.function)(\(worker.id), \(fences), '{\(name)}', '{0}', '{5}', 16\(last))"
          let explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT * FROM \(call)"
          let text = try #require(try await worker.fleet.database.run(explain).first?.text(0))
          let plan = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [[String: Any]])
          let root = try #require(plan.first?["Plan"] as? [String: Any])
          blocks.append(try #require(root["Shared Hit Blocks"] as? Int))
        }
        return blocks.sorted()[7]
      }
      try await all.0.database.run("VACUUM ANALYZE @.jobs")
      let without = try await blocks(all)
      let tagged = try await blocks(only)
      #expect(Double(tagged) <= 1.5 * Double(without), "\(tagged) blocks, \(without) without tags")
    }
  }

  extension [String] {
    fileprivate func asyncMap<Value>(_ transform: (String) async throws -> Value) async rethrows -> [Value] {
      var values: [Value] = []
      for element in self { values.append(try await transform(element)) }
      return values
    }
  }
#endif
