// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet
  import Testing

  /// What each store of a fleet does: enqueuing, claims, results, retries and chains.
  @Suite(.timeLimit(.minutes(5)))
  struct FleetConformanceTests {
    struct Refused: Error, Codable, Equatable {
      var card = "visa"
    }

    // G280
    @Test(arguments: TestStore.all)
    func `A job runs once under its id, and its stages and its result are read from elsewhere`(kind: TestStore)
      async throws
    {
      let test = kind.context
      try await test.run {
        let (fleet, client) = (test.fleet(), test.fleet())
        fleet.register(Work.self)
        let work = Work.script(last: 3) { id, step, _ in test.journal.add("\(id) \(step)") }
        #expect(try await client.enqueue(work, id: "a"))
        #expect(try await !client.enqueue(work, id: "a"))
        #expect(try await client.enqueue([(id: "a", progression: work), (id: "b", progression: work)]) == 1)
        let chain = Chain("chain") { (value: Int) in value }
        await #expect(throws: FleetError.self) { try await client.enqueue(chain, 1, id: "a") }
        #expect(try await client.status(of: "a")?.state == .queued)
        try await test.withWorkers(fleet) { () async throws in
          #expect(try await client.result(of: "a", as: Work.self) == 3)
          #expect(try await client.result(of: "b", as: Work.self) == 3)
          await #expect(throws: FleetError.notFound(id: "c")) { try await client.result(of: "c", as: Work.self) }
        }
        var stages: [Int] = []
        for try await stage in client.stages(of: "a", as: Work.self) { stages.append(stage.step) }
        #expect(stages == [1, 2, 3])
        #expect(test.journal.all.sorted() == ["a 1", "a 2", "b 1", "b 2"])
        let status = try #require(try await client.status(of: "a"))
        #expect(status.state == .done && status.stageCount == 3 && status.worker == nil && status.endedAt != nil)
        #expect(try await client.history(of: "a").map(\.number) == [1, 2, 3])
        #expect(try await client.attempts(of: "a").map(\.outcome) == ["done"])
      }
    }

    // G281
    @Test(arguments: TestStore.all)
    func `A write of a worker that lost its job changes nothing`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet()
        fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 3, backoff: .none))
        try await fleet.enqueue(Work.script(), id: "a")
        let name = StageCoder<Work>().name
        let (first, second) = (
          try await test.worker(fleet, knowing: [name]), try await test.worker(fleet, knowing: [name])
        )
        let early = try #require(try await test.claim(5, as: first, fleet).first)
        #expect(try await test.claim(5, as: second, fleet).isEmpty)
        try await fleet.endLease(of: first, within: .seconds(30))
        let late = try #require(try await test.claim(5, as: second, fleet).first)
        #expect(late.fence > early.fence && late.attempt == 2)
        let stage = StageSave(claim: early.claim, version: 2, shape: 0, stage: "{}", isLast: true)
        let ending = EndedAttempt(claim: early.claim, ending: Ending(state: .failed, error: "late"))
        #expect(try await fleet.store([stage], within: .seconds(30)) == [false])
        #expect(try await fleet.store([ending], within: .seconds(30)) == [false])
        #expect(try await fleet.store([ParkedJob(claim: early.claim)], within: .seconds(30)) == [false])
        let entry = EntrySave(claim: early.claim, number: 2, entry: [1], signals: [])
        #expect(try await fleet.store([entry], within: .seconds(30)) == [false])
        // The same worker claims it again.
        let back = EndedAttempt(claim: late.claim, ending: Ending(state: .queued, isUncounted: true))
        #expect(try await fleet.store([back], within: .seconds(30)) == [true])
        let last = try #require(try await test.claim(5, as: second, fleet).first)
        #expect(try await fleet.store([back], within: .seconds(30)) == [false])
        let save = StageSave(claim: last.claim, version: 2, shape: 0, stage: "{}", isLast: true)
        #expect(try await fleet.store([save], within: .seconds(30)) == [true])
        // A write that is repeated is stored.
        #expect(try await fleet.store([save], within: .seconds(30)) == [true])
        let status = try #require(try await fleet.status(of: "a"))
        #expect(status.state == .done && status.error == nil && status.stageCount == 2)
        #expect(try await fleet.attempts(of: "a").map(\.outcome) == ["lost", "queued", "done"])
      }
    }

    // G282
    @Test(arguments: TestStore.all)
    func `A retry waits for its delay, and the last failure is a dead letter`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet()
        let delay = Duration.milliseconds(400)
        fleet.register(Work.self, retry: RetryPolicy(maxAttempts: 2, backoff: .constant(delay)))
        let times = Lock<[Date]>([])
        let work = Work.script(last: 2) { _, _, _ in
          times.withLock { $0.append(test.now) }
          throw Refused()
        }
        try await fleet.enqueue(work, id: "a")
        try await test.withWorkers(fleet) { () async throws in
          await #expect(throws: FleetError.failed(id: "a", error: "Refused(card: \"visa\")")) {
            try await fleet.result(of: "a", as: Work.self)
          }
          let (first, second) = times.withLock { ($0[0], $0[$0.count - 1]) }
          #expect(times.withLock { $0.count } == 2 && second.timeIntervalSince(first) >= 0.399)
          if test.isInMemory { #expect(second.timeIntervalSince(first) < 0.401) }
          #expect(try await fleet.deadLetters().map(\.id) == ["a"])
          #expect(try await fleet.errors().map(\.count) == [1])
          #expect(try await fleet.attempts(of: "a").map(\.outcome) == ["scheduled", "failed"])
          #expect(try await fleet.attempts(of: "a").map(\.number) == [1, 2])
          // With all of its attempts again.
          #expect(try await fleet.requeue("a"))
          try await test.until("it has failed again") { times.withLock { $0.count } == 4 }
          try await test.waitForState(.failed, of: "a", in: fleet)
        }
      }
    }

    // G283
    @Test(arguments: TestStore.all)
    func `Jobs start by priority, and keys take turns`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet { $0.slots = 1 }
        fleet.register(Work.self)
        let work = Work.script(last: 2) { id, _, _ in test.journal.add(id) }
        for number in 1...4 {
          try await fleet.enqueue(work, id: "a\(number)", options: FleetOptions(key: "a"))
        }
        for number in 1...2 {
          try await fleet.enqueue(work, id: "b\(number)", options: FleetOptions(key: "b"))
        }
        try await fleet.enqueue(work, id: "first", options: FleetOptions(priority: 1))
        try await fleet.enqueue(work, id: "last", options: FleetOptions(priority: -1))
        try await test.withWorkers(fleet) {
          try await test.until("all ran") { () async throws in
            test.journal.all.count == 8
          }
        }
        #expect(test.journal.all == ["first", "a1", "b1", "a2", "b2", "a3", "a4", "last"])
      }
    }

    @Test(arguments: TestStore.all)
    func `Scheduled jobs take the turns after their keys' last`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet { $0.slots = 1 }
        fleet.register(Work.self)
        let work = Work.script(last: 2) { id, _, _ in test.journal.add(id) }
        try await fleet.pause(StageCoder<Work>().name)
        for number in 1...3 {
          try await fleet.enqueue(
            work,
            id: "a\(number)",
            options: FleetOptions(key: "a", start: .after(.milliseconds(50)))
          )
        }
        try await fleet.enqueue(work, id: "b1", options: FleetOptions(key: "b", start: .after(.milliseconds(60))))
        try await test.withWorkers(fleet) { () async throws in
          try await test.pass(.milliseconds(500))
          #expect(try await fleet.status(of: "a1")?.wait?.reason == .pause)
          try await fleet.resume(StageCoder<Work>().name)
          try await test.until("all ran") { test.journal.all.count == 4 }
        }
        #expect(test.journal.all == ["a1", "b1", "a2", "a3"])
      }
    }

    @Test(arguments: TestStore.all)
    func `Limits hold over all workers: how many run, run of a key, and start`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let (running, most) = (RunningCount(), RunningCount())
        let work = Work.script(last: 2) { _, _, _ in
          most.raise(to: running.add(1))
          try await test.pass(.milliseconds(50))
          running.add(-1)
        }
        let fleets = (0..<2).map { _ in test.fleet { $0.slots = 4 } }
        for fleet in fleets { fleet.register(Work.self, limits: FleetLimits(running: 3, runningPerKey: 2)) }
        for number in 0..<6 { try await fleets[0].enqueue(work, id: "\(number)", options: FleetOptions(key: "k")) }
        try await test.withWorkers(fleets[0], fleets[1]) { () async throws in
          for number in 0..<6 { #expect(try await fleets[0].result(of: "\(number)", as: Work.self) == 2) }
        }
        #expect(most.value == 2)
        for fleet in fleets { fleet.register(Work.self, limits: FleetLimits(running: 3)) }
        for number in 6..<12 { try await fleets[0].enqueue(work, id: "\(number)") }
        try await test.withWorkers(fleets[0], fleets[1]) { () async throws in
          for number in 6..<12 { #expect(try await fleets[0].result(of: "\(number)", as: Work.self) == 2) }
        }
        #expect(most.value == 3)
      }
    }

    @Test(arguments: TestStore.all)
    func `A limit of starts lets jobs start at its rate`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet()
        fleet.register(Work.self, limits: FleetLimits(starts: 2, per: .milliseconds(400)))
        let times = Lock<[Date]>([])
        let work = Work.script(last: 2) { _, _, _ in times.withLock { $0.append(test.now) } }
        for number in 0..<6 { try await fleet.enqueue(work, id: "\(number)") }
        try await test.withWorkers(fleet) { () async throws in
          for number in 0..<6 { #expect(try await fleet.result(of: "\(number)", as: Work.self) == 2) }
        }
        // Two at once, and one in each 200 ms after.
        let all = times.withLock { $0 }.sorted()
        #expect(all[5].timeIntervalSince(all[0]) >= 0.5)
        if test.isInMemory { #expect(abs(all[5].timeIntervalSince(all[0]) - 0.8) < 0.01) }
      }
    }

    @Test(arguments: TestStore.all)
    func `A worker takes the jobs of its tags and versions`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let gpu = test.fleet { $0.tags = .only(["gpu"]) }
        let other = test.fleet { $0.tags = .except(["gpu"]) }
        let (gpuJobs, otherJobs) = (Journal(), Journal())
        let work = Work.script(last: 2)
        for fleet in [gpu, other] { fleet.register(Work.self) }
        try await gpu.enqueue(work, id: "tagged", options: FleetOptions(tags: ["gpu", "eu"]))
        try await gpu.enqueue(work, id: "eu", options: FleetOptions(tags: ["eu"]))
        try await gpu.enqueue(work, id: "plain")
        await #expect(throws: FleetError.self) {
          try await gpu.enqueue(work, id: "bad", options: FleetOptions(tags: ["a b"]))
        }
        try await test.withWorkers(gpu, onEvent: { if case .claimed(let ids, _) = $0 { ids.forEach(gpuJobs.add) } }) {
          () async throws in
          #expect(try await gpu.result(of: "tagged", as: Work.self) == 2)
          try await test.until("the wait is known") { try await gpu.status(of: "eu")?.wait?.reason == .tag }
        }
        #expect(try await gpu.status(of: "plain")?.state == .queued)
        #expect(try await gpu.status(of: "plain")?.wait?.reason == .type)
        try await test.withWorkers(other, onEvent: { if case .claimed(let ids, _) = $0 { ids.forEach(otherJobs.add) } })
        { () async throws in
          #expect(try await gpu.result(of: "eu", as: Work.self) == 2)
          #expect(try await gpu.result(of: "plain", as: Work.self) == 2)
        }
        #expect(gpuJobs.all == ["tagged"] && otherJobs.all.sorted() == ["eu", "plain"])
        // A worker that knows an older version leaves the job.
        let chain = Chain("versioned") { (value: Int) in value }
        other.register(chain, version: 1)
        try await other.enqueue(chain, 1, id: "new", version: 2)
        try await test.withWorkers(other) { () async throws in
          try await test.until("the wait is known") { try await other.status(of: "new")?.wait?.reason == .version }
        }
      }
    }

    // G284
    @Test(arguments: TestStore.all)
    func `A chain that fails undoes its steps in reverse order, and its error is that of the step`(kind: TestStore)
      async throws
    {
      let test = kind.context
      try await test.run {
        let order = Chain("order") { (value: Int) in
          for name in ["reserve", "charge"] {
            try await step(name) {
              test.journal.add(name)
            } undo: {
              test.journal.add("undo \(name)")
            }
          }
          try await step("ship") { if value == 0 { throw Refused(card: "master") } }
          return "order \(value)"
        }
        let empty = Chain("clean up") { try await step("clean") { test.journal.add("clean") } }
        let fleet = test.fleet()
        fleet.register(order)
        fleet.register(empty)
        try await fleet.enqueue(order, 0, id: "bad")
        try await test.withWorkers(fleet) { () async throws in
          await #expect(throws: Refused(card: "master")) { try await fleet.result(of: "bad", as: order) }
          #expect(test.journal.all == ["reserve", "charge", "undo charge", "undo reserve"])
          let status = try #require(try await fleet.status(of: "bad"))
          #expect(status.state == .failed && status.isUndone && status.isRequeueable)
          try await fleet.enqueue(order, 1, id: "good")
          #expect(try await fleet.result(of: "good", as: order) == "order 1")
          try await fleet.enqueue(empty, id: "empty")
          try await fleet.result(of: "empty", as: empty)
          #expect(test.journal.count("clean") == 1)
          // What was undone begins again, with its input.
          let keys = try await fleet.entries(of: "bad").count
          #expect(keys > 0)
          #expect(try await fleet.requeue("bad"))
          try await test.until("it has run again") { test.journal.count("undo reserve") == 2 }
          try await test.waitForState(.failed, of: "bad", in: fleet)
        }
      }
    }

    @Test(arguments: TestStore.all)
    func `Jobs of a worker that drains continue on the next one`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let order = Chain("order") { (value: Int) in
          try await step("reserve") { test.journal.add("reserve") }
          try await step("approval", waitFor: String.self)
          try await step("ship") { test.journal.add("ship") }
          return value
        }
        let (first, second) = (test.fleet(), test.fleet())
        for fleet in [first, second] { fleet.register(order) }
        try await first.enqueue(order, 7, id: "a")
        try await test.withWorkers(first) { () async throws in
          try await test.until("it waits") { try await first.status(of: "a")?.wait?.reason == .signal }
        }
        let status = try #require(try await first.status(of: "a"))
        #expect(status.state == .scheduled && status.wait?.reason == .signal)
        #expect(status.worker == nil && status.attempt == 0)
        try await first.send("Ann", to: "a", signal: "approval")
        try await test.withWorkers(second) { () async throws in
          #expect(try await second.result(of: "a", as: order) == 7)
        }
        #expect(test.journal.all == ["reserve", "ship"])
      }
    }

    @Test(arguments: TestStore.all)
    func `A limit of time ends a stage, and a job for good`(kind: TestStore) async throws {
      let test = kind.context
      try await test.run {
        let fleet = test.fleet()
        fleet.register(
          Work.self,
          retry: RetryPolicy(maxAttempts: 2, backoff: .none),
          limits: FleetLimits(stageTime: .milliseconds(300))
        )
        let work = Work.script(last: 2) { _, _, attempt in
          test.journal.add("\(attempt)")
          try await test.pass(.seconds(300))
        }
        try await fleet.enqueue(work, id: "a")
        try await test.withWorkers(fleet) { () async throws in
          await #expect(throws: FleetError.self) { try await fleet.result(of: "a", as: Work.self) }
        }
        #expect(try await fleet.attempts(of: "a").map(\.number) == [1, 2])
        if test.isInMemory { #expect(test.journal.all == ["1", "2"]) }
        #expect(try await fleet.status(of: "a")?.error?.contains("time limit") == true)
        let order = Chain("order") { (_: Int) in
          try await step("reserve") {
            test.journal.add("reserve")
          } undo: {
            test.journal.add("undo")
          }
          try await step("cool down", sleep: .seconds(300))
          return 1
        }
        fleet.register(order, limits: FleetLimits(jobTime: .milliseconds(300)))
        try await fleet.enqueue(order, 1, id: "b")
        try await test.withWorkers(fleet) { () async throws in
          await #expect(throws: FleetError.self) { try await fleet.result(of: "b", as: order) }
        }
        #expect(test.journal.count("reserve") == test.journal.count("undo"))
        if test.isInMemory { #expect(test.journal.all.suffix(2) == ["reserve", "undo"]) }
      }
    }
  }
#endif
