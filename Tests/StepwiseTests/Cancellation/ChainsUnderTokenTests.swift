// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Chains inside `withCancellation(by:)`: what of them is cancelled, when, and with which reason.
@Suite(.timeLimit(.minutes(5)))
struct ChainsUnderTokenTests {
  private let token = CancellationToken()
  private let log = Recorder<String>()
  private let entered = Recorder<Int>()
  private let gate = Recorder<Int>()

  /// Waits until it is interrupted.
  private var waiting: Chain<Int, Int> {
    Chain("wait") { [entered] (number: Int) in
      entered.record(number)
      try await ManualClock().sleep(for: .seconds(1))
      return number
    }
    .finally { [log] state in log.record("finally \(state.summary)") }
  }

  /// Ignores cancellation; waits until the gate is opened.
  private var stubborn: Chain<Int, Int> {
    Chain("stubborn") { [entered, gate] (number: Int) in
      entered.record(number)
      await Task { _ = await gate.elements(atLeast: 1) }.value
      return number
    }
    .then("next") { [log] number in
      log.record("next")
      return number
    }
    .finally { [log] state in log.record("finally \(state.summary)") }
  }

  // MARK: - run

  @Test func `A run in the body is interrupted immediately`() async {
    let task = Task { [token, waiting] in
      try await withCancellation(by: token) { try await waiting.run(1) }
    }
    await entered.elements(atLeast: 1)
    token.cancel(reason: "stop")
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == ["finally cancelled stop"])
  }

  @Test func `A run in a child task is interrupted immediately`() async {
    let task = Task { [token, waiting] in
      try await withCancellation(by: token) {
        await withThrowingTaskGroup { group in
          for number in 0..<3 { group.addTask { try await waiting.run(number) } }
          while let result = await group.nextResult() {
            #expect(throws: CancellationError.self) { try result.get() }
          }
        }
      }
    }
    await entered.elements(atLeast: 3)
    token.cancel(reason: "stop")
    _ = await task.result
    #expect(log.elements == Array(repeating: "finally cancelled stop", count: 3))
  }

  @Test
  func `A run in an unstructured task of the body is interrupted, and the task is not`() async throws {
    let inner = try await withCancellation(by: token) { [stubborn] in
      Task { try await stubborn.run(1) }
    }
    await entered.elements(atLeast: 1)
    token.cancel(reason: "stop")
    #expect(!inner.isCancelled)
    gate.record(1)
    await #expect(throws: CancellationError.self) { try await inner.value }
    #expect(log.elements == ["finally cancelled stop"])
  }

  /// The running step is interrupted, completes, and because it is the last one, its value stands.
  @Test
  func `A run in an unstructured task keeps the value of its last step`() async throws {
    let inner = try await withCancellation(by: token) { [entered, gate, log] in
      Task {
        try await Chain {
          entered.record(1)
          await gate.elements(atLeast: 1)
          return Task.isCancelled
        }
        .finally { state in log.record("finally \(state.summary)") }
        .run()
      }
    }
    await entered.elements(atLeast: 1)
    token.cancel(reason: "stop")
    gate.record(1)
    #expect(try await inner.value == true)
    #expect(log.elements == ["finally resolved true"])
  }

  /// A run cancelled before it began runs its `finally` handlers and nothing else.
  @Test
  func `A run under a cancelled token runs only finally`() async {
    token.cancel(reason: "before")
    await #expect(throws: CancellationError.self) {
      try await withCancellation(by: token) { [waiting] in try await waiting.run(1) }
    }
    #expect(entered.elements.isEmpty)
    #expect(log.elements == ["finally cancelled before"])
  }

  // MARK: - start

  @Test func `A run that was started in the body is cancelled immediately`() async throws {
    let run = try await withCancellation(by: token) { [token, waiting, entered] in
      let run = waiting.start(1)
      await entered.elements(atLeast: 1)
      token.cancel(reason: "stop")
      return run
    }
    #expect(await run.outcome.cancellation?.reason == "stop")
    #expect(log.elements == ["finally cancelled stop"])
  }

  @Test
  func `A run started in the body is cancelled even after the body returns`() async throws {
    let run = try await withCancellation(by: token) { [waiting] in waiting.start(1) }
    await entered.elements(atLeast: 1)
    #expect(!run.isFinished)
    token.cancel(reason: "later")
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(!run.cancel())
    #expect(log.elements == ["finally cancelled later"])
  }

  @Test
  func `A run started in an unstructured task is cancelled immediately`() async throws {
    let inner = try await withCancellation(by: token) { [waiting, gate] in
      Task {
        await gate.elements(atLeast: 1)
        return waiting.start(1)
      }
    }
    gate.record(1)
    let run = await inner.value
    await entered.elements(atLeast: 1)
    token.cancel(reason: "later")
    #expect(await run.outcome.cancellation?.reason == "later")
  }

  @Test
  func `A run started under a cancelled token runs only finally`() async throws {
    token.cancel(reason: "before")
    let run = try await withCancellation(by: token) { [waiting] in waiting.start(1) }
    #expect(await run.outcome.cancellation?.reason == "before")
    #expect(entered.elements.isEmpty)
    #expect(log.elements == ["finally cancelled before"])
  }

  @Test func `The end of the body cancels nothing`() async throws {
    let run = try await withCancellation(by: token) { [stubborn] in stubborn.start(1) }
    gate.record(1)
    #expect(try await run.value == 1)
    #expect(log.elements == ["next", "finally resolved 1"])
  }

  @Test func `An interrupted calling task leaves a started run alone`() async throws {
    let runs = Recorder<Run<Int>>()
    let task = Task { [token, stubborn, entered] in
      try await withCancellation(by: token) {
        runs.record(stubborn.start(1))
        await Task { _ = await entered.elements(atLeast: 1) }.value
      }
    }
    let run = await runs.elements(atLeast: 1)[0]
    task.cancel()
    gate.record(1)
    #expect(try await run.value == 1)
  }

  // MARK: - Reasons

  @Test func `The innermost token that was cancelled gives the reason`() async throws {
    let inner = CancellationToken()
    let task = Task { [token, waiting] in
      try await withCancellation(by: token) {
        try await withCancellation(by: inner) { try await waiting.run(1) }
      }
    }
    await entered.elements(atLeast: 1)
    inner.cancel(reason: "inner")
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == ["finally cancelled inner"])
    #expect(!token.isCancelled)
  }

  @Test func `The outer token gives its reason through the inner`() async throws {
    let task = Task { [token, waiting] in
      try await withCancellation(by: token) {
        try await withCancellation(by: CancellationToken()) { try await waiting.run(1) }
      }
    }
    await entered.elements(atLeast: 1)
    token.cancel(reason: "outer")
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == ["finally cancelled outer"])
  }

  @Test func `Plain task cancellation has no reason`() async {
    let task = Task { [token, waiting] in
      try await withCancellation(by: token) { try await waiting.run(1) }
    }
    await entered.elements(atLeast: 1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.elements == ["finally cancelled -"])
  }

  @Test func `The interrupted step's error is the underlying error`() async throws {
    let run = try await withCancellation(by: token) { [entered] in
      Chain {
        entered.record(1)
        do { try await ManualClock().sleep(for: .seconds(1)) } catch { throw Fault(7) }
      }.start()
    }
    await entered.elements(atLeast: 1)
    token.cancel(reason: "stop")
    let cancellation = await run.outcome.cancellation
    #expect(cancellation?.reason == "stop")
    #expect(cancellation?.underlyingError as? Fault == Fault(7))
  }

  /// A chain that uses `withCancellation` in a step is not itself under that token.
  @Test func `A token inside a step does not cover the run`() async {
    let run = Chain { [token] in
      try await withCancellation(by: token) {
        token.cancel(reason: "inside")
        try Task.checkCancellation()
      }
    }.start()
    let outcome = await run.outcome
    #expect(outcome.cancellation == nil)
    #expect(throws: CancellationError.self) { try outcome.get() }
  }
}
