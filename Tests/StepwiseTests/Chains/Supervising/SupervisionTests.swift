// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// What the actor reports about its runs, and how it controls them.
@Suite(.timeLimit(.minutes(5)))
struct SupervisionTests {
  @Test func `runsInFlight counts plain and started runs until their end`() async throws {
    let turnstile = Turnstile()
    let ending = Turnstile()
    let chain = Chain { (number: Int) in
      await turnstile.passWhateverHappens()
      return number
    }
    .finally { _ in await ending.passWhateverHappens() }
    #expect(chain.runsInFlight == 0)
    let started = chain.start(1)
    #expect(chain.runsInFlight == 1)
    let plain = Task { try await chain.run(2) }
    await turnstile.visitors(atLeast: 2)
    #expect(chain.runsInFlight == 2)
    turnstile.open()
    await ending.visitors(atLeast: 2)
    #expect(chain.runsInFlight == 2)
    ending.open()
    #expect(try await started.value == 1)
    #expect(try await plain.value == 2)
    #expect(chain.runsInFlight == 0)
  }

  @Test func `Waiting runs are in flight`() async {
    let turnstile = Turnstile()
    let chain = Chain { () in await turnstile.passWhateverHappens() }.overlap(.serial)
    let runs = (0..<3).map { _ in chain.start() }
    #expect(chain.runsInFlight == 3)
    turnstile.open()
    for run in runs { _ = await run.outcome }
    #expect(chain.runsInFlight == 0)
  }

  @Test func `Derived chains are counted separately`() async throws {
    let turnstile = Turnstile()
    let base = Chain { () in await turnstile.passWhateverHappens() }
    let derived = base.then { 1 }
    let run = derived.start()
    #expect(base.runsInFlight == 0)
    #expect(derived.runsInFlight == 1)
    base.cancelRuns()
    turnstile.open()
    #expect(try await run.value == 1)
  }

  // G59
  @Test
  func `cancelRuns interrupts started runs, and the chain stays usable`() async throws {
    let turnstile = Turnstile()
    let states = Recorder<String>()
    let chain = Chain { (number: Int) in
      if number < 3 { try await turnstile.pass() }
      return number
    }
    .finally { states.record($0.brief) }
    let runs = (0..<3).map { chain.start($0) }
    await turnstile.visitors(atLeast: 3)
    chain.cancelRuns(reason: "enough")
    for run in runs { #expect(await run.outcome.brief == "cancelled enough") }
    #expect(states.elements == Array(repeating: "cancelled enough", count: 3))
    #expect(try await chain.run(3) == 3)
    #expect(try await chain.start(4).value == 4)
  }

  // G59
  @Test func `cancelRuns stops plain runs at their next step`() async throws {
    let turnstile = Turnstile()
    let states = Recorder<String>()
    let chain = Chain { (number: Int) in
      if number == 0 { await turnstile.passWhateverHappens() }
      return Task.isCancelled
    }
    .then { wasInterrupted in
      states.record("next, interrupted: \(wasInterrupted)")
      return wasInterrupted
    }
    .finally { states.record($0.brief) }
    let task = Task { try await chain.run(0) }
    await turnstile.visitors(atLeast: 1)
    chain.cancelRuns(reason: "enough")
    turnstile.open()
    #expect(await task.result.brief == "failure CancellationError()")
    #expect(states.elements == ["cancelled enough"])
    #expect(try await chain.run(1) == false)
  }

  @Test func `cancelRuns cancels waiting runs`() async {
    let turnstile = Turnstile()
    let chain = Chain { (number: Int) in await turnstile.passWhateverHappens() }.overlap(.serial)
    let runs = (0..<3).map { chain.start($0) }
    await turnstile.visitors(atLeast: 1)
    chain.cancelRuns(reason: "enough")
    #expect(await runs[2].outcome.brief == "cancelled enough")
    #expect(await runs[1].outcome.brief == "cancelled enough")
    turnstile.open()
    #expect(await runs[0].outcome.brief == "resolved ()")
  }

  // G60
  @Test func `drain returns when no run is in flight`() async {
    let turnstile = Turnstile()
    let log = Recorder<String>()
    let chain = Chain { () in await turnstile.passWhateverHappens() }.finally { _ in log.record("ended") }
    await chain.waitUntilIdle()
    chain.start()
    chain.start()
    let drains = (0..<3).map { _ in
      Task {
        await chain.waitUntilIdle()
        log.record("drained")
      }
    }
    await turnstile.visitors(atLeast: 2)
    #expect(log.elements.isEmpty)
    turnstile.open()
    for drain in drains { await drain.value }
    #expect(log.elements == ["ended", "ended", "drained", "drained", "drained"])
    #expect(chain.runsInFlight == 0)
  }

  // G60
  @Test func `drain refuses no run`() async throws {
    let turnstile = Turnstile()
    let chain = Chain { (number: Int) in
      if number == 0 { await turnstile.passWhateverHappens() }
      return number
    }
    chain.start(0)
    await turnstile.visitors(atLeast: 1)
    let drain = Task { await chain.waitUntilIdle() }
    #expect(try await chain.run(1) == 1)
    #expect(try await chain.start(2).value == 2)
    turnstile.open()
    await drain.value
  }

  // G60
  @Test func `drain returns early when its task is cancelled`() async {
    let turnstile = Turnstile()
    let chain = Chain { () in await turnstile.passWhateverHappens() }
    let run = chain.start()
    await turnstile.visitors(atLeast: 1)
    let drain = Task { await chain.waitUntilIdle() }
    drain.cancel()
    await drain.value
    #expect(!run.isFinished)
    #expect(chain.runsInFlight == 1)
    turnstile.open()
    _ = await run.outcome
  }

  /// As many as would take minutes, were each of them looked for among the others.
  @Test(.timeLimit(.minutes(3))) func `Cancelled drains return immediately`() async {
    let turnstile = Turnstile()
    let chain = Chain { () in await turnstile.passWhateverHappens() }
    let run = chain.start()
    await turnstile.visitors(atLeast: 1)
    let drains = (0..<100_000).map { _ in Task { await chain.waitUntilIdle() } }
    for drain in drains { drain.cancel() }
    for drain in drains { await drain.value }
    #expect(!run.isFinished)
    let drain = Task { await chain.waitUntilIdle() }
    turnstile.open()
    await drain.value
    #expect(run.isFinished)
  }

  // G60
  @Test func `drain sees every end for every seed`() throws {
    for seed in seeds() {
      let count = try SeededExecutor(seed: seed).run {
        let ended = Recorder<Int>()
        let chain = Chain { (number: Int) in
          for _ in 0..<number { await Task.yield() }
        }
        .finally { _ in ended.record(1) }
        for number in 0..<5 { chain.start(number) }
        await chain.waitUntilIdle()
        return ended.elements.count
      }
      try #require(count == 5, "seed \(seed)")
    }
  }

  @Test func `A nested run is counted and cancelled by its own chain`() async {
    let turnstile = Turnstile()
    let inner = Chain { (number: Int) in await turnstile.passWhateverHappens() }.then { 1 }
    let outer = Chain { 0 }.appending(inner)
    let run = outer.start()
    await turnstile.visitors(atLeast: 1)
    #expect(inner.runsInFlight == 1)
    #expect(outer.runsInFlight == 1)
    inner.cancelRuns(reason: "inner")
    turnstile.open()
    #expect(await run.outcome.brief == "failed CancellationError()")
    await inner.waitUntilIdle()
  }
}
