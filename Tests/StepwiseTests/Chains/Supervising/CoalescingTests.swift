// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import StepwiseTracing
import Testing

/// Runs with an equal key that share one run.
@Suite(.timeLimit(.minutes(5)))
struct CoalescingTests {
  private let log = Recorder<String>()
  private let gate = Turnstile()

  /// A chain whose runs wait at the gate, and record what happens.
  private func waiting() -> Chain<Int, Int> {
    Chain("reserve", undo: { [log] (number: Int) in log.record("undo \(number)") }) { [log] (number: Int) in
      log.record("begin \(number)")
      return number
    }
    .then("load") { [gate] number in
      try await gate.pass()
      if number < 0 { throw Fault(number) }
      return number * 10
    }
    .onError { [log] error in log.record("\(error)") }
    .finally { [log] in log.record($0.brief) }
  }

  // G32, G176
  @Test func `A run joins no shared run that is cancelled`() async throws {
    let stubborn = Chain { [gate] (number: Int) in
      await gate.passWhateverHappens()
      try Task.checkCancellation()
      return number
    }
    .coalesced(by: \.self)
    let first = stubborn.start(1)
    await gate.visitors(atLeast: 1)
    stubborn.cancelRuns(reason: "stop")
    let second = stubborn.start(1)
    gate.open()
    #expect(await first.outcome.brief == "cancelled stop")
    #expect(try await second.value == 1)
  }

  // G176
  @Test(arguments: [1, -1]) func `Concurrent runs with an equal key share one run and its handlers`(number: Int) async {
    let chain = waiting().coalesced { abs($0) }
    let started = (0..<3).map { _ in chain.start(number) }
    let plain = Task { await resultOf { try await chain.run(number) }.brief }
    // They join in the call of `start`, so it is the first one's input that is used.
    let other = chain.start(-number)
    let apart = chain.start(7)
    await gate.visitors(atLeast: 2)
    while chain.runsInFlight < 6 { await Task.yield() }
    gate.open()
    for run in started + [other] {
      #expect(await run.outcome.brief == (number > 0 ? "resolved 10" : "failed \(Fault(-1))"))
      #expect(run.failedStep?.name == (number > 0 ? nil : "load"))
    }
    #expect(await plain.value == (number > 0 ? "success 10" : "failure \(Fault(-1))"))
    #expect(await apart.outcome.brief == "resolved 70")
    let own = log.elements.filter { !$0.hasSuffix(" 7") && !$0.hasSuffix("70") }
    #expect(
      own == ["begin \(number)"]
        + (number > 0 ? ["resolved 10"] : ["undo -1", "\(Fault(-1))", "failed \(Fault(-1))"])
    )
    #expect(chain.runsInFlight == 0)
  }

  // G176
  @Test func `Nothing is kept after the run`() async throws {
    gate.open()
    let chain = waiting().coalesced { _ in "all" }
    #expect(try await chain.run(1) == 10)
    #expect(try await chain.run(2) == 20)
    await #expect(throws: Fault(-3)) { try await chain.run(-3) }
    #expect(try await chain.start(4).value == 40)
    #expect(log.elements.filter { $0.hasPrefix("begin") } == ["begin 1", "begin 2", "begin -3", "begin 4"])
  }

  // G176
  @Test func `A shared run and its output are released with the handles`() async throws {
    let (inputs, outputs) = (LifetimeTracker(), LifetimeTracker())
    let chain = Chain { (_: LifetimeTracker.Tracked) in outputs.track() }.coalesced { _ in 1 }
    func runAll() async throws {
      _ = try await chain.run(inputs.track())
      let runs = [chain.start(inputs.track()), chain.start(inputs.track())]
      for run in runs {
        for await _ in run.events {}
        _ = try await run.value
      }
      runs[0].cancel()
      chain.start(inputs.track())
      await chain.waitUntilIdle()
    }
    try await runAll()
    await inputs.allReleased()
    await outputs.allReleased()
    #expect(inputs.alive + outputs.alive == 0)
  }

  // G177
  @Test func `A run that is cancelled leaves alone, and the last one cancels the shared run`() async {
    let chain = waiting().coalesced { $0 }
    let runs = (0..<3).map { _ in chain.start(1) }
    await gate.visitors(atLeast: 1)
    #expect(runs[0].cancel(reason: "first"))
    #expect(await runs[0].outcome.brief == "cancelled first")
    let task = Task { try await chain.run(1) }
    while chain.runsInFlight < 3 { await Task.yield() }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == ["begin 1"])
    runs[1].cancel(reason: "second")
    #expect(await runs[1].outcome.brief == "cancelled second")
    #expect(log.elements == ["begin 1"])
    runs[2].cancel(reason: "third")
    #expect(await runs[2].outcome.brief == "cancelled third")
    #expect(log.elements == ["begin 1", "undo 1", "cancelled third"])
    #expect(chain.runsInFlight == 0)
    gate.open()
    #expect(await chain.start(1).outcome.brief == "resolved 10")
  }

  // G177
  @Test func `The last run that is cancelled gets the value that the shared run still returns`() async {
    let chain = Chain { [gate] (number: Int) in
      try? await gate.pass()
      return number
    }
    .coalesced { $0 }
    let run = chain.start(3)
    await gate.visitors(atLeast: 1)
    run.cancel()
    #expect(await run.outcome.brief == "resolved 3")
  }

  // G177
  @Test func `A token around the first run does not cancel the shared one`() async throws {
    let chain = waiting().coalesced { $0 }
    let (first, second) = (CancellationToken(), CancellationToken())
    let run = chain.start(1, cancelledBy: first)
    let body = Task { try await withCancellation(by: second) { try await chain.run(1) } }
    while chain.runsInFlight < 2 { await Task.yield() }
    first.cancel(reason: "left")
    #expect(await run.outcome.brief == "cancelled left")
    gate.open()
    #expect(try await body.value == 10)
    #expect(log.elements == ["begin 1", "resolved 10"])
  }

  // G177
  @Test(arguments: [false, true]) func `cancelRuns and the chain's token cancel the shared run`(byToken: Bool) async {
    let chain = waiting().coalesced { $0 }
    let runs = (0..<2).map { _ in chain.start(1) }
    await gate.visitors(atLeast: 1)
    if byToken { chain.cancellationToken.cancel(reason: "out") } else { chain.cancelRuns(reason: "out") }
    for run in runs { #expect(await run.outcome.brief == "cancelled out") }
    await chain.waitUntilIdle()
    #expect(log.elements == ["begin 1", "undo 1", "cancelled out"])
    gate.open()
    let outcome = await chain.start(1).outcome.brief
    #expect(outcome == (byToken ? "cancelled out" : "resolved 10"))
  }

  // G178
  @Test func `Events, progress and undo errors are those of the shared run`() async {
    let chain = Chain("reserve", undo: { (_: Int) in throw Fault(9) }) { (number: Int) in number }
      .then("load") { [gate] number -> Int in
        try await gate.pass()
        throw Fault(number)
      }
      .coalesced { $0 }
    let runs = (0..<2).map { _ in chain.start(1) }
    await gate.visitors(atLeast: 1)
    gate.open()
    for run in runs {
      _ = await run.outcome
      var lines: [String] = []
      for await event in run.events { lines.append("\(event)".split(separator: " after ")[0].description) }
      #expect(lines.contains("load started"))
      #expect(lines.last == "failed: \(Fault(1))")
      var last: ChainProgress?
      for await progress in run.progress { last = progress }
      #expect(last?.step == "load")
      #expect(run.undoErrors.map(\.step) == ["reserve"])
    }
    let cancelled = chain.start(
      1,
      cancelledBy: {
        $0.cancel(); return $0
      }(CancellationToken())
    )
    #expect(await cancelled.outcome.brief.hasPrefix("cancelled"))
    var count = 0
    for await _ in cancelled.events { count += 1 }
    #expect(count > 0)
  }

  // G178
  @Test func `It covers the chain that it returned, also with a gate`() async throws {
    let base = Chain("load") { [log, gate] (number: Int) in
      log.record("begin \(number)")
      await gate.passWhateverHappens()
      return number
    }
    let chain = base.coalesced { $0 }.then { $0 + 1 }.overlap(.serial).finally { [log] _ in log.record("finally") }
    let runs = [1, 1, 2, 2].map { chain.start($0) }
    await gate.visitors(atLeast: 1)
    #expect(log.elements == ["begin 1"])
    gate.open()
    for (run, value) in zip(runs, [2, 2, 3, 3]) { #expect(try await run.value == value) }
    #expect(log.elements == ["begin 1", "finally", "begin 2", "finally"])
    #expect(chain.describe(.text).contains("coalesced"))
    // The chain that it was derived from is not coalesced.
    for run in [base.start(5), base.start(5)] { _ = try await run.value }
    #expect(log.elements.suffix(2) == ["begin 5", "begin 5"])
  }

  // G178
  @Test func `A coalesced chain is a step, and its failed step is that of the whole`() async {
    let inner = Chain("a") { (number: Int) in number }.then("b") { (_: Int) -> Int in throw Fault(3) }
    let run = Chain("before") { 1 }.appending(inner.coalesced { $0 }).start()
    #expect(await run.outcome.brief == "failed \(Fault(3))")
    #expect(run.failedStep?.name == "b")
    #expect(run.failedStep?.index == 2)
  }

  // G178
  @Test func `A step that awaits the shared run around it is reentrant`() async throws {
    let itself = Watched<Chain<Int, String>?>(nil)
    let chain = Chain("self") { (number: Int) -> String in
      guard let chain = itself.read({ $0 }), number < 3 else { return "end" }
      do {
        return try await chain.run((number + 1) % 2)
      } catch ChainError.reentrant {
        let run = chain.start(number)
        let outcome = await run.outcome.brief
        run.cancel()
        return outcome
      }
    }
    .coalesced { $0 }
    itself.mutate { $0 = chain }
    #expect(try await chain.run(0) == "failed \(ChainError.reentrant)")
    itself.mutate { $0 = nil }
    await chain.waitUntilIdle()
  }

  // G178
  @Test func `In a durable run each run is performed on its own`() async throws {
    let store = MemoryCheckpointStore()
    let chain = Chain("load") { [log] (number: Int) in
      try await step("count") { log.record("begin") }
      return number
    }
    .coalesced { _ in 1 }
    async let first = chain.run(1, id: "a", in: store)
    async let second = chain.run(2, id: "b", in: store)
    #expect(try await first == 1)
    #expect(try await second == 2)
    #expect(log.elements == ["begin", "begin"])
    // A run between the steps of a durable one, and one in a step of it.
    let outer = Chain("outer") { (_: Int) in
      async let first = chain.run(3)
      async let second = chain.run(4)
      let numbers = try await [first, second]
      return try await numbers + step("within") { [try await chain.run(5)] }
    }
    for _ in 0..<2 { #expect(try await outer.run(1, id: "c", in: store) == [3, 4, 5]) }
    #expect(log.elements.count == 5)
  }

  @Test func `Chains without an input, and outputs of any type`() async throws {
    let chain = Chain { [gate] () -> Int?? in
      await gate.passWhateverHappens()
      return .some(nil)
    }
    .coalesced()
    let runs = [chain.start(), chain.start()]
    gate.open()
    for run in runs { #expect(try await run.value == .some(nil)) }
    let existential = Chain { (number: Int) -> any Sendable in number }.coalesced { $0 }
    #expect(try await existential.run(4) as? Int == 4)
  }

  /// Whether a run joins, leaves or ends: each gets the value of a run that was in flight with it, and none hangs.
  @Test(arguments: seeds(200)) func `Any order of joining and leaving ends every run`(seed: UInt64) async throws {
    try await simulate(seed: seed) { clock in
      var random = SeededGenerator(seed: seed)
      let bodies = Tally()
      let chain = Chain { (_: Int) in
        let number = bodies.increment()
        try await clock.sleep(for: .milliseconds(10))
        return number
      }
      .coalesced { $0 }
      let times = (0..<12).map { _ in
        (start: Int.random(in: 0..<30, using: &random), cancel: Int.random(in: 0..<40, using: &random))
      }
      let values = try await withThrowingTaskGroup(of: Int?.self) { group in
        for (index, time) in times.enumerated() {
          group.addTask {
            try await clock.sleep(for: .milliseconds(time.start))
            let run = chain.start(index % 2)
            if time.cancel < 20 {
              try await clock.sleep(for: .milliseconds(time.cancel))
              run.cancel()
            }
            return try? await run.value
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      try require(values.count == 12)
      try require(chain.runsInFlight == 0)
      try require(values.compactMap(\.self).allSatisfy { 1...bodies.total ~= $0 })
    }
  }
}
