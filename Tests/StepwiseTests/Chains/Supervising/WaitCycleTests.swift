// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A step that waits for a run around it gets an error; a run that a step merely started waits.
@Suite(.timeLimit(.minutes(5)))
struct WaitCycleTests {
  /// Where, in a step, the run waits for itself.
  enum Form: CaseIterable, Sendable {
    case step, stepTimeout, chainTimeout, chainAbandon, race, zip, thenMap, withCancellation
    case undo, onError, finally
  }

  enum Wait: CaseIterable, Sendable {
    case value, outcome

    func callAsFunction(_ run: Run<Int>) async throws -> Int {
      switch self {
      case .value: try await run.value
      case .outcome: try await run.outcome.get()
      }
    }
  }

  private let clock = ManualClock()
  private let handle = Watched<Run<Int>?>(nil)
  private let results = Recorder<String>()

  /// Waits for the run in the handle and records how that ended.
  private func waitForItself(_ wait: Wait) -> @Sendable () async -> Void {
    { [handle, results] in
      await handle.wait { $0 != nil }
      guard let run = handle.read({ $0 }) else { return }
      results.record(await resultOf { try await wait(run) }.brief)
    }
  }

  private func makeChain(_ form: Form, _ call: @escaping @Sendable () async -> Void) -> Chain<Int, Int> {
    let calls = Chain { (number: Int) in
      await call()
      return number
    }
    let step = Step { (number: Int) in
      await call()
      return number
    }
    switch form {
    case .step: return calls
    case .stepTimeout: return Chain(step.timeout(.seconds(60), clock: clock))
    case .chainTimeout: return calls.timeout(.seconds(60), clock: clock)
    case .chainAbandon: return calls.abandon(after: .seconds(60), clock: clock)
    case .race: return Chain.race(calls, calls)
    case .zip: return Chain<Int, (Int, Int)>.zip(calls, calls).then { $0.0 }
    case .thenMap:
      return Chain { (number: Int) in [number, number] }
        .thenMap(maxConcurrent: 2) { number in
          await call()
          return number
        }
        .then { $0[0] }
    case .withCancellation:
      return Chain { (number: Int) in
        try await withCancellation(by: CancellationToken()) { await call() }
        return number
      }
    case .undo: return Chain(undo: { _ in await call() }) { (number: Int) in number }.then { _ in throw Fault() }
    case .onError: return Chain { (_: Int) in throw Fault() }.onError { _ in await call() }
    case .finally: return Chain { (number: Int) in number }.finally { _ in await call() }
    }
  }

  // G58
  @Test(arguments: Form.allCases, Wait.allCases)
  func `A run that waits for itself gets an error`(form: Form, wait: Wait) throws {
    let chain = makeChain(form, waitForItself(wait))
    let (handle, results) = (handle, results)
    try SeededExecutor(seed: 1, clock: clock).run {
      let run = chain.start(1)
      handle.mutate { $0 = run }
      _ = await run.outcome
      handle.mutate { $0 = nil }
    }
    #expect(Set(results.elements) == ["failure \(ChainError.reentrant)"])
  }

  enum Child: CaseIterable, Sendable { case asyncLet, taskGroup }

  @Test(arguments: Child.allCases, Wait.allCases)
  func `A wait in a task of the step gets an error`(child: Child, wait: Wait) throws {
    let waits = waitForItself(wait)
    let chain = Chain { (number: Int) -> Int in
      switch child {
      case .asyncLet:
        async let waited: Void = waits()
        await waited
      case .taskGroup: await withTaskGroup { $0.addTask { await waits() } }
      }
      return number
    }
    let handle = handle
    try SeededExecutor(seed: 1).run {
      let run = chain.start(1)
      handle.mutate { $0 = run }
      _ = await run.outcome
      handle.mutate { $0 = nil }
    }
    #expect(results.elements == ["failure \(ChainError.reentrant)"])
  }

  @Test(arguments: Wait.allCases)
  func `A run that a step does not await may wait for the step's run`(wait: Wait) throws {
    let (handle, results) = (handle, results)
    let waits = waitForItself(wait)
    let began = Recorder<Int>()
    let first = Chain { (number: Int) in
      Chain {
        began.record(number)
        await waits()
      }
      .start()
      await began.elements(atLeast: 1)
      for _ in 0..<10 { await Task.yield() }
      return number
    }
    try SeededExecutor(seed: 1).run {
      let run = first.start(7)
      handle.mutate { $0 = run }
      await results.elements(atLeast: 1)
      handle.mutate { $0 = nil }
    }
    #expect(results.elements == ["success 7"])
  }

  @Test(
    arguments: [Overlap.serial, .keepLatest],
    Wait.allCases
  )
  func `A step that waits for a queued run of its chain gets an error`(policy: Overlap, wait: Wait) throws {
    let itself = Watched<Chain<Int, Int>?>(nil)
    let results = results
    let chain = Chain { (number: Int) -> Int in
      guard number == 0, let chain = itself.read({ $0 }) else { return number }
      let next = chain.start(1)
      results.record(await resultOf { try await wait(next) }.brief)
      return number
    }
    .overlap(policy)
    itself.mutate { $0 = chain }
    try SeededExecutor(seed: 1).run {
      _ = try await chain.run(0)
      await chain.waitUntilIdle()
    }
    #expect(results.elements == ["failure \(ChainError.reentrant)"])
    itself.mutate { $0 = nil }
  }
}
