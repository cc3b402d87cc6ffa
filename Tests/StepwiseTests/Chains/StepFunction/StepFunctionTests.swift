// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// What a step is to its run, and what it is outside of runs.
@Suite(.timeLimit(.minutes(5)))
struct StepFunctionTests {
  // G38
  @Test
  func `A step checks for cancellation before its body, and keeps its value`() async throws {
    for origin in ["task", "handle", "cancelRuns", "token"] {
      let log = Recorder<String>()
      let turnstile = Turnstile()
      let chain = Chain { () in
        let value = try await step("first") {
          await turnstile.passWhateverHappens()
          return 7
        }
        log.record("kept \(value)")
        try await step("second") { log.record("second") }
      }
      .finally { log.record($0.brief) }
      let token = CancellationToken()
      let run = origin == "handle" ? chain.start() : nil
      let task = Task {
        if let run { return await run.outcome.brief }
        return await resultOf { try await withCancellation(by: token) { try await chain.run() } }.brief
      }
      await turnstile.visitors(atLeast: 1)
      switch origin {
      case "task": task.cancel()
      case "handle": run?.cancel(reason: "stop")
      case "cancelRuns": chain.cancelRuns(reason: "stop")
      default: token.cancel(reason: "stop")
      }
      turnstile.open()
      _ = await task.value
      #expect(log.elements == ["kept 7", "cancelled \(origin == "task" ? "-" : "stop")"], "\(origin)")
    }
  }

  // G38
  @Test func `The value of the last step is not discarded`() async throws {
    let turnstile = Turnstile()
    let chain = Chain { () in
      try await step("only") {
        await turnstile.passWhateverHappens()
        return 7
      }
    }
    let run = chain.start()
    await turnstile.visitors(atLeast: 1)
    run.cancel(reason: "stop")
    turnstile.open()
    #expect(try await run.value == 7)
  }

  // G39
  @Test(arguments: [nil, Duration.seconds(60)])
  func `Outside of a run a step runs its body with retry and timeout`(limit: Duration?) async throws {
    let attempts = Tally()
    let value = try await step("retried", retry: RetryPolicy(maxAttempts: 3, backoff: .none), timeout: limit) {
      let attempt = attempts.increment()
      if attempt < 3 { throw Fault(attempt) }
      return "value"
    }
    #expect(value == "value")
    #expect(attempts.total == 3)
    await #expect(throws: Fault(1)) {
      try await step("refused", retry: RetryPolicy(maxAttempts: 3, backoff: .none), if: { _ in false }, timeout: limit)
      {
        throw Fault(1)
      }
    }
  }

  // G39
  @Test func `A time limit names its step`() async throws {
    let clock = ManualClock()
    let task = Task {
      try await step("slow", timeout: .seconds(5), clock: clock) { try await clock.sleep(for: .seconds(60)) }
    }
    await clock.sleepers(atLeast: 2)
    clock.advance(by: .seconds(5))
    let error = await #expect(throws: TimeoutError.self) { try await task.value }
    #expect(error?.step == "slow")
    #expect(error?.duration == .seconds(5))
  }

  // G39
  @Test func `Outside of a run a step with an undo throws before its body`() async {
    let bodies = Tally()
    await #expect(throws: ChainError.outsideRun) {
      try await step("charge") {
        bodies.add()
      } undo: {
        print("undo")
      }
    }
    await #expect(throws: ChainError.outsideRun) {
      try await step("charge", retry: RetryPolicy(maxAttempts: 3, backoff: .none), timeout: .seconds(60)) {
        bodies.add()
        return 1
      } undo: { (_: Int) in
      }
    }
    #expect(bodies.total == 0)
    #expect("\(ChainError.outsideRun)".contains("`undo:`"))
    #expect(ChainError.outsideRun != .reentrant)
  }

  // G39
  @Test func `A detached task is outside of the run and a task inside`() async throws {
    let chain = Chain { () in
      let inside = await resultOf {
        try await Task {
          try await step("a") {
            1
          } undo: {
          }
        }.value
      }
      let outside = await resultOf {
        try await Task.detached {
          try await step("a") {
            1
          } undo: {
          }
        }.value
      }
      return [inside.brief, outside.brief]
    }
    #expect(try await chain.run() == ["success 1", "failure \(ChainError.outsideRun)"])
  }

  // G40
  @Test(arguments: ["undo", "onError", "finally"])
  func `In undos and handlers, a step ignores the cancellation of the run`(place: String) async throws {
    let log = Recorder<String>()
    let work: @Sendable () async -> Void = {
      let attempts = Tally()
      log.record(
        await resultOf {
          try await step("handle", retry: RetryPolicy(maxAttempts: 2, backoff: .none), timeout: .seconds(60)) {
            if attempts.increment() == 1 { throw Fault(1) }
            return Task.isCancelled
          }
        }.brief
      )
      log.record(
        await resultOf {
          try await step("undoable") {
            log.record("body")
          } undo: {
          }
        }.brief
      )
    }
    let chain = Chain { () in
      try await step("a") {
        1
      } undo: { _ in
        if place == "undo" { await work() }
      }
      if place == "onError" { throw Fault() }
      withUnsafeCurrentTask { $0?.cancel() }
      try await step("b") {}
    }
    .onError { _ in if place == "onError" { await work() } }
    .finally { _ in if place == "finally" { await work() } }
    _ = await chain.start().outcome
    _ = await Task { try await chain.run() }.result
    let expected = ["success false", "failure \(ChainError.outsideRun)"]
    #expect(log.elements == expected + expected)
  }

  // G41
  @Test(arguments: [false, true])
  func `The inner step that threw the error of the run is the failed step`(started: Bool) async throws {
    func failedStep(_ body: @escaping @Sendable () async throws -> Void) async throws -> String? {
      let steps = Recorder<ChainStep>()
      let chain = Chain("zero") { () in }.then("plan", body).then("after") {}.onError { _, step in steps.record(step) }
      if started {
        let run = chain.start()
        _ = await run.outcome
        #expect(run.failedStep == steps.elements.last)
      } else {
        _ = await resultOf { try await chain.run() }
      }
      return steps.elements.last.map { "\($0.index) \($0)" }
    }
    let fails: @Sendable (Int) async throws -> Void = { throw Fault($0) }
    #expect(try await failedStep { try await step("a") { try await fails(1) } } == "1 a")
    #expect(try await failedStep { try await fails(1) } == "1 plan")
    #expect(
      try await failedStep {
        try? await step("a") { try await fails(1) }
        try await fails(2)
      } == "1 plan"
    )
    #expect(
      try await failedStep {
        try? await step("a") { try await fails(1) }
        try await step("b") {}
        try await fails(2)
      } == "1 plan"
    )
    #expect(try await failedStep { try await step("a") { try await step("b") { try await fails(1) } } } == "1 a")
    #expect(
      try await failedStep {
        try await step("a", retry: RetryPolicy(maxAttempts: 2, backoff: .none)) {
          try await fails(1)
        } undo: {
        }
      } == "1 a"
    )
    #expect(try await failedStep { try await step("a") {} } == nil)
  }

  // G41
  @Test func `An inner step of an earlier step is not the failed step`() async throws {
    let steps = Recorder<String>()
    let chain = Chain("first") { () in try? await step("a") { throw Fault(1) } }
      .then("second") { throw Fault(2) }
      .onError { _, step in steps.record("\(step.index) \(step)") }
    _ = await resultOf { try await chain.run() }
    #expect(steps.elements == ["1 second"])
  }

  // G41
  /// The failure of one step interrupts its sibling, which then throws as well.
  @Test func `An interrupted sibling is not the failed step`() async throws {
    let steps = Recorder<String>()
    let chain = Chain("plan") { () in
      let sibling = Turnstile()
      async let failing: Void = step("mail") {
        await sibling.visitors(atLeast: 1)
        throw Fault(1)
      }
      async let waiting: Void = step("invoice") { try await sibling.pass() }
      _ = try await (failing, waiting)
    }
    .onError { _, step in steps.record("\(step.index) \(step)") }
    _ = await resultOf { try await chain.run() }
    #expect(steps.elements == ["0 mail"])
  }

  // G41
  @Test func `The inner step of a nested chain is named by the outer run`() async throws {
    let steps = Recorder<String>()
    let nested = Chain("inner") { () in try await step("a") { throw Fault(1) } }
    let chain = Chain("outer") { () in }.appending(nested).onError { _, step in steps.record("\(step.index) \(step)") }
    _ = await resultOf { try await chain.run() }
    let zipped = Chain.zip(Chain("left") { () in }, nested).onError { _, step in steps.record("\(step.index) \(step)") }
    _ = await resultOf { try await zipped.run() }
    #expect(steps.elements == ["1 a", "1 a"])
  }

  @Test func `A million steps run in a loop`() async throws {
    let count = scaled(1_000_000)
    let chain = Chain { (count: Int) in
      var sum = 0
      for _ in 0..<count { sum += try await step("add") { 1 } }
      return sum
    }
    #expect(try await chain.run(count) == count)
  }
}
