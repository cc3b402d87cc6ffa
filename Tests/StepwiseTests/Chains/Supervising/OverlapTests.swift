// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// What a further run does while one is in flight.
@Suite(.timeLimit(.minutes(5)))
struct OverlapTests {
  /// A chain whose runs stay until the test releases them, and that reports which are inside.
  private struct Guarded {
    let log = Recorder<String>()
    let turnstiles: [Turnstile]
    let chain: Chain<Int, Int>

    init(_ policy: Overlap?, runs: Int, stubborn: Bool = false) {
      let turnstiles = (0..<runs).map { _ in Turnstile() }
      let log = log
      let plain = Chain { (number: Int) in
        log.record("begin \(number)")
        if stubborn {
          await turnstiles[number].passWhateverHappens()
        } else {
          try await turnstiles[number].pass()
        }
        return number
      }
      .finally { log.record($0.brief) }
      self.turnstiles = turnstiles
      chain = policy.map { plain.overlap($0) } ?? plain
    }
  }

  @Test(arguments: [nil, Overlap.concurrent])
  func `Concurrent runs overlap`(policy: Overlap?) async {
    let guarded = Guarded(policy, runs: 3)
    let runs = (0..<3).map { guarded.chain.start($0) }
    for turnstile in guarded.turnstiles { await turnstile.visitors(atLeast: 1) }
    for turnstile in guarded.turnstiles { turnstile.open() }
    for (number, run) in runs.enumerated() { #expect(await run.outcome.brief == "resolved \(number)") }
  }

  // G53
  @Test func `A serial run waits for the previous one and its finally`() async {
    let guarded = Guarded(.serial, runs: 3)
    let runs = (0..<3).map { guarded.chain.start($0) }
    for turnstile in guarded.turnstiles.reversed() { turnstile.open() }
    for run in runs { _ = await run.outcome }
    #expect(
      guarded.log.elements == ["begin 0", "resolved 0", "begin 1", "resolved 1", "begin 2", "resolved 2"]
    )
  }

  // G56
  @Test
  func `A cancelled waiting run leaves, and the others keep their order`() async {
    let guarded = Guarded(.serial, runs: 4)
    let runs = (0..<3).map { guarded.chain.start($0) }
    let plain = Task { try await guarded.chain.run(3) }
    await guarded.turnstiles[0].visitors(atLeast: 1)
    #expect(runs[1].cancel(reason: "no patience"))
    #expect(await runs[1].outcome.brief == "cancelled no patience")
    plain.cancel()
    #expect(await plain.result.brief == "failure CancellationError()")
    #expect(guarded.log.elements == ["begin 0"])
    for turnstile in guarded.turnstiles { turnstile.open() }
    #expect(await runs[0].outcome.brief == "resolved 0")
    #expect(await runs[2].outcome.brief == "resolved 2")
  }

  @Test func `A failure admits the next run`() async throws {
    let chain = Chain { (number: Int) in
      if number == 0 { throw Fault(0) }
      return number
    }.overlap(.serial)
    let runs = (0..<3).map { chain.start($0) }
    #expect(await runs[0].outcome.brief == "failed \(Fault(0))")
    #expect(try await runs[2].value == 2)
  }

  // G54
  @Test func `dropNew refuses runs while one is in flight`() async throws {
    let guarded = Guarded(.dropNew, runs: 2)
    let first = guarded.chain.start(0)
    let refused = guarded.chain.start(1)
    #expect(await refused.outcome.brief == "cancelled dropNew")
    await #expect(throws: CancellationError.self) { try await guarded.chain.run(1) }
    guarded.turnstiles[0].open()
    guarded.turnstiles[1].open()
    #expect(try await first.value == 0)
    // A caller that has awaited a run is admitted.
    #expect(try await guarded.chain.run(1) == 1)
    #expect(guarded.log.elements == ["begin 0", "resolved 0", "begin 1", "resolved 1"])
  }

  @Test func `A caller that awaited a run is admitted for every seed`() throws {
    for seed in seeds() {
      let sum = try SeededExecutor(seed: seed).run {
        let chain = Chain { (number: Int) in
          await Task.yield()
          return number
        }.overlap(.dropNew)
        var sum = 0
        for number in 1...3 {
          sum += seed.isMultiple(of: 2) ? try await chain.start(number).value : try await chain.run(number)
        }
        return sum
      }
      try #require(sum == 6, "seed \(seed)")
    }
  }

  // G54
  @Test func `keepLatest lets one run wait until a newer one replaces it`() async throws {
    let guarded = Guarded(.keepLatest, runs: 4)
    let runs = (0..<4).map { guarded.chain.start($0) }
    #expect(await runs[1].outcome.brief == "cancelled keepLatest")
    #expect(await runs[2].outcome.brief == "cancelled keepLatest")
    #expect(!runs[0].isFinished && !runs[3].isFinished)
    for turnstile in guarded.turnstiles { turnstile.open() }
    #expect(try await runs[0].value == 0)
    #expect(try await runs[3].value == 3)
    #expect(!guarded.log.elements.contains("begin 1"))
    #expect(!guarded.log.elements.contains("begin 2"))
  }

  @Test
  func `cancelPrevious cancels the run in flight and the waiting run`() async throws {
    let guarded = Guarded(.cancelPrevious, runs: 3, stubborn: true)
    let first = guarded.chain.start(0)
    await guarded.turnstiles[0].visitors(atLeast: 1)
    let second = guarded.chain.start(1)
    let third = guarded.chain.start(2)
    #expect(await second.outcome.brief == "cancelled cancelPrevious")
    #expect(!first.isFinished)
    #expect(guarded.log.elements == ["begin 0"])
    guarded.turnstiles[2].open()
    guarded.turnstiles[0].open()
    // The step still returned its value, which is the run's value.
    #expect(await first.outcome.brief == "resolved 0")
    #expect(try await third.value == 2)
    #expect(guarded.log.elements.suffix(3) == ["resolved 0", "begin 2", "resolved 2"])
  }

  // G53
  @Test
  func `cancelPrevious starts a run after the previous run's finally`() async throws {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let ending = Turnstile()
    let chain = Chain { (number: Int) in
      log.record("begin \(number)")
      if number == 0 { try await turnstile.pass() }
      return number
    }
    .then("a", undo: { _ in }) { $0 }
    .finally { state in
      if case .cancelled = state { await ending.passWhateverHappens() }
      log.record(state.brief)
    }
    .overlap(.cancelPrevious)
    let first = chain.start(0)
    await turnstile.visitors(atLeast: 1)
    let second = chain.start(1)
    await ending.visitors(atLeast: 1)
    #expect(log.elements == ["begin 0"])
    #expect(!second.isFinished)
    ending.open()
    #expect(try await second.value == 1)
    #expect(await first.outcome.brief == "cancelled cancelPrevious")
    #expect(log.elements == ["begin 0", "cancelled cancelPrevious", "begin 1", "resolved 1"])
  }

  @Test func `The last overlap policy counts`() async throws {
    let turnstile = Turnstile()
    let chain = Chain { () in await turnstile.passWhateverHappens() }.overlap(.dropNew).overlap(.serial)
    let runs = [chain.start(), chain.start()]
    turnstile.open()
    for run in runs { try await run.value }
  }

  // G57
  @Test func `An overlap policy covers the whole chain`() async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let chain = Chain { (number: Int) in number }.overlap(.serial).then { number in
      log.record("begin \(number)")
      if number == 0 { await turnstile.passWhateverHappens() }
      return number
    }
    .finally { log.record($0.brief) }
    let runs = [chain.start(0), chain.start(1)]
    await turnstile.visitors(atLeast: 1)
    turnstile.open()
    for run in runs { _ = await run.outcome }
    #expect(log.elements == ["begin 0", "resolved 0", "begin 1", "resolved 1"])
  }

  // G57
  @Test func `A derived chain has its own gate`() async throws {
    let turnstile = Turnstile()
    let base = Chain { (number: Int) in
      if number == 0 { await turnstile.passWhateverHappens() }
      return number
    }.overlap(.dropNew)
    let derived = base.then { $0 + 1 }
    let held = base.start(0)
    await turnstile.visitors(atLeast: 1)
    #expect(try await derived.run(1) == 2)
    let heldToo = derived.start(0)
    await turnstile.visitors(atLeast: 2)
    await #expect(throws: CancellationError.self) { try await derived.run(1) }
    await #expect(throws: CancellationError.self) { try await base.run(1) }
    turnstile.open()
    #expect(try await held.value == 0)
    #expect(try await heldToo.value == 1)
  }

  // G55
  @Test(arguments: [Overlap.serial, .cancelPrevious, .dropNew, .keepLatest])
  func `A run that a policy ends has the policy's name as reason`(policy: Overlap) async {
    let guarded = Guarded(policy, runs: 3)
    let runs = (0..<3).map { guarded.chain.start($0) }
    for turnstile in guarded.turnstiles { turnstile.open() }
    for run in runs {
      let outcome = await run.outcome.brief
      #expect(await briefEvents(of: run).last == outcome)
      #expect(outcome.hasPrefix("resolved") || outcome == "cancelled \(policy.name)")
    }
    let begun = guarded.log.elements.filter { $0.hasPrefix("begin") }
    // One that was admitted may be cancelled before its first step.
    #expect(guarded.log.elements.count >= 2 * begun.count)
  }
}
