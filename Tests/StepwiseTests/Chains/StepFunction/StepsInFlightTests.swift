// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Steps in tasks that the code of a run does not await, or that the run abandons.
@Suite(.timeLimit(.minutes(5)))
struct StepsInFlightTests {
  private let log = Recorder<String>()

  // G44
  @Test(arguments: [false, true], [false, true])
  func `The run waits for steps in flight before it is decided`(started: Bool, fails: Bool) async throws {
    let gate = Turnstile()
    let chain = Chain { () in
      _ = Task {
        try await step("slow") {
          await gate.passWhateverHappens()
          log.record("slow")
        } undo: { [log] in
          log.record("undo slow")
        }
      }
      await gate.visitors(atLeast: 1)
      log.record("last")
      if fails { throw Fault() }
    }
    .finally { [log] in log.record($0.brief) }
    let task = Task { try await started ? chain.start().value : chain.run() }
    await log.wait(for: "last")
    for _ in 0..<100 { await Task.yield() }
    #expect(log.elements == ["last"])
    gate.open()
    _ = await task.result
    #expect(log.elements == ["last", "slow"] + (fails ? ["undo slow", "failed \(Fault())"] : ["resolved ()"]))
  }

  // G44
  @Test func `A cancellation while the run waits for steps cancels it`() async throws {
    let gate = Turnstile()
    let chain = Chain { () in
      Task { try await step("slow") { await gate.passWhateverHappens() } }
      await gate.visitors(atLeast: 1)
      log.record("last")
      throw Fault()
    }
    let run = chain.start()
    await log.wait(for: "last")
    #expect(run.cancel(reason: "stop"))
    gate.open()
    #expect(await run.outcome.brief == "cancelled stop \(Fault())")
  }

  // G62
  @Test(arguments: [false, true])
  func `A cancellation ends the backoff of a step that the code of the run does not await`(raced: Bool) async {
    let (clock, gate) = (ManualClock(), Turnstile())
    let policy = RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(60)))
    let waiting = Chain { () -> Int in
      Task { try await step("a", retry: policy, clock: clock) { throw Fault() } }
      await clock.sleepers(atLeast: 1)
      throw Fault()
    }
    let other = Chain { () -> Int in
      await gate.passWhateverHappens()
      return 2
    }
    let run = (raced ? .race(waiting, other) : waiting).start()
    await clock.sleepers(atLeast: 1)
    gate.open()
    if !raced { run.cancel(reason: "stop") }
    #expect(await run.outcome.brief == (raced ? "resolved 2" : "cancelled stop \(Fault())"))
  }

  /// A journal asks the task whether a step was interrupted.
  @Test(arguments: seeds(20))
  func `The backoff of a branch that has lost ends after its task was cancelled`(seed: UInt64) async throws {
    try await simulate(seed: seed) { [log] clock in
      let policy = RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(60)))
      let losing = Chain { () in
        do {
          try await step("a", retry: policy, clock: clock) { throw Fault() }
        } catch {
          log.record("cancelled: \(Task.isCancelled)")
          throw error
        }
      }
      let failing = Chain { () in
        try await clock.sleep(for: .seconds(1))
        throw Fault(1)
      }
      _ = await Chain<Void, (Void, Void)>.zip(losing, failing).start().outcome
    }
    #expect(log.elements == ["cancelled: true"])
  }

  // G45, G174
  @Test(arguments: [false, true])
  func `Work that outlives its run begins no step, and learns why`(started: Bool) async throws {
    let gate = Turnstile()
    let late = Once<String>()
    let chain = Chain { () in
      _ = Task {
        await gate.passWhateverHappens()
        let result = await resultOf { try await step("late", timeout: .seconds(60)) { log.record("late") } }
        late.settle(result.brief)
      }
    }
    try await started ? chain.start().value : chain.run()
    gate.open()
    #expect(await late.value() == "failure \(ChainError.runHasEnded)")
    #expect(log.elements.isEmpty)
    #expect("\(ChainError.runHasEnded)".contains("Task.detached"))
  }

  /// What a task that a run created gets from `step` when the gate opens.
  private func late(isCancelled: Bool = false, _ end: @escaping @Sendable () async throws -> Void) async -> String? {
    let (gate, late) = (Turnstile(), Once<String>())
    let chain = Chain { () in
      let task = Task {
        await gate.passWhateverHappens()
        let result = await resultOf { try await step("late") {} }
        late.settle(result.brief)
      }
      if isCancelled { task.cancel() }
      try await end()
    }
    _ = await chain.start().outcome
    gate.open()
    return await late.value()
  }

  // G174
  @Test func `A run that failed or was cancelled has ended as well`() async {
    #expect(await late { throw Fault() } == "failure \(ChainError.runHasEnded)")
    #expect(await late { withUnsafeCurrentTask { $0?.cancel() } } == "failure \(ChainError.runHasEnded)")
    #expect(await late(isCancelled: true) {} == "failure CancellationError()")
  }

  // G174
  @Test func `Work of a run that is decided but not over is cancelled`() async {
    let late = Once<String>()
    let gate = Turnstile()
    let run = Chain { () in
      _ = Task {
        await gate.passWhateverHappens()
        let result = await resultOf { try await step("late") {} }
        late.settle(result.brief)
      }
    }
    .finally { _ in
      gate.open()
      #expect(await late.value() == "failure CancellationError()")
    }
    .start()
    _ = await run.outcome
  }

  // G174
  @Test func `A detached task belongs to no run`() async throws {
    let late = Once<String>()
    let gate = Turnstile()
    _ = try await Chain { () in
      Task.detached {
        await gate.passWhateverHappens()
        let result = await resultOf { try await step("late") {} }
        late.settle(result.brief)
      }
    }
    .run()
    gate.open()
    #expect(await late.value()?.hasPrefix("success") == true)
  }

  /// Work that a run abandons, with a task of its own beside it.
  private func abandoning(
    _ work: @escaping @Sendable () async throws -> Void,
    by form: String,
    clock: ManualClock
  ) -> Chain<Void, Void> {
    switch form {
    case "nested":
      Chain("first") { () in }.appending(Chain("work", work)).abandon(after: .seconds(1), clock: clock)
    case "limited":
      Chain("work", work).timeout(.seconds(60), clock: clock).abandon(after: .seconds(1), clock: clock)
    default: Chain("work", work).abandon(after: .seconds(1), clock: clock)
    }
  }

  // G45
  @Test(arguments: ["chain", "nested", "limited"], [false, true])
  func `The run does not wait for steps of abandoned work`(form: String, started: Bool) async throws {
    let clock = ManualClock()
    let (gate, task) = (Turnstile(), Turnstile())
    let late = Recorder<String>()
    let chain = abandoning(
      {
        _ = Task {
          await task.passWhateverHappens()
          late.record("task " + (await resultOf { try await step("new") { log.record("new") } }.brief))
        }
        try await step("stuck") { await gate.passWhateverHappens() }
        late.record("work " + (await resultOf { try await step("next") { log.record("next") } }.brief))
      },
      by: form,
      clock: clock
    )
    let run = Task { try await started ? chain.start().value : chain.run() }
    await gate.visitors(atLeast: 1)
    await task.visitors(atLeast: 1)
    await clock.sleepers(atLeast: form == "limited" ? 2 : 1)
    clock.advance(by: .seconds(1))
    await #expect(throws: TimeoutError.self) { try await run.value }
    task.open()
    #expect(await late.elements(atLeast: 1) == ["task failure CancellationError()"])
    gate.open()
    #expect(await late.elements(atLeast: 2).last == "work failure CancellationError()")
    #expect(log.elements.isEmpty)
  }

  // G44
  @Test(arguments: ["chain", "nested", "limited"], [false, true])
  func `The run waits for steps in flight of work that it may abandon`(form: String, started: Bool) async throws {
    let gate = Turnstile()
    let work = abandoning(
      {
        _ = Task {
          try await step("slow") {
            await gate.passWhateverHappens()
            log.record("slow")
          }
        }
        await gate.visitors(atLeast: 1)
      },
      by: form,
      clock: ManualClock()
    )
    let chain = work.then { log.record("next") }
    let run = Task { try await started ? chain.start().value : chain.run() }
    await gate.visitors(atLeast: 1)
    for _ in 0..<100 { await Task.yield() }
    #expect(log.elements.isEmpty)
    gate.open()
    try await run.value
    #expect(log.elements == ["slow", "next"])
  }

  // G45
  /// A nested chain is one step, which is undone when it completes.
  @Test(arguments: [false, true]
  )
  func `A step of abandoned work is undone on completion`(isRecovered: Bool) async throws {
    let clock = ManualClock()
    let gate = Turnstile()
    let left = Turnstile()
    var chain = abandoning(
      {
        try await step("completed") {
        } undo: { [log] in
          log.record("undo completed")
        }
        try await step("scope", retry: RetryPolicy(maxAttempts: 2, backoff: .none)) {
          try await step("stuck") {
            await gate.passWhateverHappens()
          } undo: { [log] in
            log.record("undo stuck")
          }
        }
        log.record("left")
        left.open()
      },
      by: "chain",
      clock: clock
    )
    if isRecovered { chain = chain.recover { _ in } }
    let run = chain.start()
    await gate.visitors(atLeast: 1)
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(1))
    #expect(await run.outcome.brief == (isRecovered ? "resolved ()" : "failed work did not end within 1 second"))
    #expect(log.elements == ["undo completed"], "what it had completed is undone at once")
    gate.open()
    try await left.pass()
    #expect(log.elements == ["undo completed", "undo stuck", "left"])
  }

  // G45
  @Test func `Work that ends in time is part of the run`() async throws {
    let clock = ManualClock()
    let gate = Turnstile()
    let chain = abandoning(
      {
        try await step("a") {
        } undo: { [log] in
          log.record("undo a")
        }
        Task {
          await gate.passWhateverHappens()
          try await step("b") {
            log.record("b")
          } undo: { [log] in
            log.record("undo b")
          }
          gate.open()
        }
      },
      by: "chain",
      clock: clock
    )
    .then {
      gate.open()
      await log.wait(for: "b")
      throw Fault()
    }
    _ = await resultOf { try await chain.run() }
    #expect(log.elements == ["b", "undo b", "undo a"])
  }

  // G44
  /// Tasks begin steps until the run no longer lets them; each step that began ends before the run.
  @Test(arguments: [false, true])
  func `No step outlives its run in any order`(fails: Bool) async throws {
    try await explore(seeds: seeds(500)) { _ in
      let open = Tally()
      let early = Tally()
      let undone = Tally()
      let chain = Chain { () in
        for _ in 0..<3 {
          Task {
            for _ in 0..<6 {
              try await step("a") {
                open.add(1)
                await Task.yield()
              } undo: {
                undone.add(1)
              }
              await Task.yield()
            }
          }
        }
        for _ in 0..<3 { await Task.yield() }
        if fails { throw Fault() }
      }
      .finally { _ in
        early.add(undone.total)
      }
      let result = await resultOf { try await chain.run() }
      let begun = open.total
      for _ in 0..<10 { await Task.yield() }
      guard open.total == begun else { throw Broken(description: "a step began after \(result)") }
      guard early.total == (fails ? begun : 0) else { throw Broken(description: "\(early.total) of \(begun) undone") }
    }
  }
}
