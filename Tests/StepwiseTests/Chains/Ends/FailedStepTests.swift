// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The step at which a run failed reaches everyone who learns of the error, however the step was run.
@Suite(.timeLimit(.minutes(5)))
struct FailedStepTests {
  /// A chain that fails, and its failing step.
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let chain: Chain<Int, Int>
    let step: String
  }

  private static let policy = RetryPolicy(maxAttempts: 3, backoff: .none)

  /// Steps "1: first" and "2: second", of which one fails.
  private static func pair(_ name: String, failing: Int) -> Chain<Int, Int> {
    Chain("\(name) first") { (number: Int) in
      if failing == 1 { throw Fault(failing) }
      return number
    }
    .then("\(name) second") { number in
      if failing == 2 { throw Fault(failing) }
      return number
    }
  }

  static let cases: [Case] = [
    Case(testDescription: "first step", chain: pair("a", failing: 1), step: "0 a first"),
    Case(testDescription: "second step", chain: pair("a", failing: 2).then("after") { $0 }, step: "1 a second"),
    Case(
      testDescription: "step without a name",
      chain: Chain { (number: Int) in number }.then { (_: Int) -> Int in throw Fault() },
      step: "1 step 1"
    ),
    Case(testDescription: "last attempt", chain: pair("a", failing: 2).retry(policy), step: "1 a second"),
    Case(
      testDescription: "after a recovery",
      chain: pair("a", failing: 1).recover { _ in 1 }.then("last") { _ in throw Fault() },
      step: "2 last"
    ),
    Case(
      testDescription: "recovery that fails",
      chain: pair("a", failing: 1).recover { _ in throw Fault(7) },
      step: "0 a first"
    ),
    Case(
      testDescription: "nested chain",
      chain: Chain("outer") { (number: Int) in number }.appending(pair("b", failing: 2)).then { $0 },
      step: "2 b second"
    ),
    Case(
      testDescription: "nested chain with a task of its own",
      chain: Chain("outer") { (number: Int) in number }.appending(pair("b", failing: 2).overlap(.serial)),
      step: "2 b second"
    ),
    Case(
      testDescription: "zip",
      chain: Chain<Int, (Int, Int)>.zip(pair("a", failing: 0), pair("b", failing: 1)).then { $0.0 },
      step: "2 b first"
    ),
    Case(testDescription: "race", chain: Chain.race(pair("a", failing: 2)), step: "1 a second"),
    Case(
      testDescription: "thenMap",
      chain: Chain { (number: Int) in [number] }.thenMap("each", maxConcurrent: 1) { _ in throw Fault() }
        .then { (_: [Int]) in 1 },
      step: "1 each"
    ),
    Case(
      testDescription: "under timeout",
      chain: pair("a", failing: 2).timeout(.seconds(60)),
      step: "1 a second"
    ),
    Case(
      testDescription: "under abandon, after others",
      chain: Chain("outer") { (number: Int) in number }.appending(pair("a", failing: 2).abandon(after: .seconds(60))),
      step: "2 a second"
    ),
    Case(testDescription: "with a finally handler", chain: pair("a", failing: 2).finally { _ in }, step: "1 a second"),
  ]

  private func line(_ step: ChainStep?) -> String { step.map { "\($0.index) \($0)" } ?? "none" }

  // G4
  @Test(arguments: cases)
  func `onError, the handle and the events name the failed step`(_ failing: Case) async {
    let seen = Recorder<String>()
    let chain = failing.chain.onError { error, step in seen.record("\(error) at \(step.index) \(step)") }

    let plain = await resultOf { try await chain.run(1) }
    let run = chain.start(1)
    let started = await resultOf { try await run.value }
    #expect(line(run.failedStep) == failing.step)
    #expect(plain.brief == started.brief, "the error is the step's own")
    let error = started.brief.dropFirst("failure ".count)
    #expect(seen.elements == Array(repeating: "\(error) at \(failing.step)", count: 2))

    var finished: [ChainStep] = []
    for await event in run.events {
      if case .stepFinished(let step, _, .some) = event { finished.append(step) }
    }
    #expect(finished.contains { line($0) == failing.step })
  }

  @Test(arguments: cases)
  func `The name is the same for a run in a task of its own`(_ failing: Case) async {
    let seen = Recorder<String>()
    let chain = failing.chain.onError { _, step in seen.record("\(step.index) \(step)") }
    _ = chain.cancellationToken
    _ = await resultOf { try await chain.run(1) }
    #expect(seen.elements == [failing.step])
  }

  @Test
  func `A run that has a value or was cancelled has no failed step`() async {
    let cancelled = Chain("waits") { (_: Int) -> Int in throw Fault() }
    let token = CancellationToken()
    token.cancel(reason: "enough")
    let run = cancelled.start(1, cancelledBy: token)
    _ = await run.outcome
    #expect(run.failedStep == nil)
    let good = Self.pair("a", failing: 0).start(5)
    _ = await good.outcome
    #expect(good.failedStep == nil)
  }

  @Test
  func `A timeout names the running step, a failed undo its own step`() throws {
    let (clock, seen) = (ManualClock(), Recorder<String>())
    let chain = Chain("room", undo: { _ in throw Fault(9) }) { (number: Int) in number }
      .then("slow") { number in
        try await clock.sleep(for: .seconds(60))
        return number
      }
      .timeout(.seconds(1), clock: clock)
      .onError { error, step in seen.record("\(type(of: error)) at \(step)") }
    try SeededExecutor(seed: 1, clock: clock).run {
      let run = chain.start(1)
      _ = await run.outcome
      #expect(line(run.failedStep) == "1 slow")
    }
    #expect(seen.elements == ["TimeoutError at slow", "UndoError at room"])
  }

  @Test
  func `Handlers of an appended chain and of the whole receive the same step`() async {
    let seen = Recorder<String>()
    let inner = Self.pair("b", failing: 2).onError { _, step in seen.record("inner \(step.index) \(step)") }
    let chain = Chain("outer") { (number: Int) in number }.appending(inner)
      .onError { _, step in seen.record("outer \(step.index) \(step)") }
      .onError { _ in seen.record("without") }
    _ = await resultOf { try await chain.run(1) }
    #expect(seen.elements == ["inner 2 b second", "outer 2 b second", "without"])
  }

  @Test
  func `A chain that an appended one must not enter fails at that step`() async throws {
    let itself = Watched<Chain<Int, Int>?>(nil)
    let seen = Recorder<String>()
    let serial = Chain("serial") { (number: Int) -> Int in
      guard let chain = itself.read({ $0 }) else { return number }
      return try await Chain("before") { (number: Int) in number }.appending(chain)
        .onError { error, step in seen.record("\(error is ChainError) \(step.index) \(step)") }
        .run(number)
    }
    .overlap(.serial)
    itself.mutate { $0 = serial }
    _ = await resultOf { try await serial.run(1) }
    itself.mutate { $0 = nil }
    #expect(seen.elements == ["true 1 serial"])
  }

  @Test
  func `A job names its step`() async {
    let run: JobRun<Never, Int> = Job("track") { (_: Int) -> Int in throw Fault() }
      .launch(1, on: JobQueue(maxConcurrent: 1))
    _ = await run.outcome
    #expect(line(run.failedStep) == "0 track")
  }

  private struct Busy: Error {
    let number: Int
  }

  private final class Lost: Error {}

  /// Code with `step`, and the step at which it fails.
  private static let bodies: [(title: String, step: String, body: @Sendable () async throws -> Void)] = [
    (
      "an error that was caught, and another one of plain code", "0 code",
      {
        _ = try? await step("cache") { throw Fault(1) }
        throw Fault(2)
      }
    ),
    (
      "an error that was caught, and one of another type", "0 code",
      {
        _ = try? await step("cache") { throw Busy(number: 1) }
        throw Fault()
      }
    ),
    (
      "an error that was caught, then a step that fails", "0 fetch",
      {
        _ = try? await step("cache") { throw Fault(1) }
        try await step("fetch") { throw Fault(2) }
      }
    ),
    (
      "a step between the error and its second throw", "0 charge",
      {
        do {
          try await step("charge") { throw Fault(1) }
        } catch {
          try await step("note") {}
          _ = try? await step("mail") { throw Fault(2) }
          throw error
        }
      }
    ),
    (
      "an error that was caught by its type and thrown again", "0 charge",
      {
        do {
          try await step("charge") { throw Busy(number: 1) }
        } catch let error as Busy {
          throw error
        }
      }
    ),
    (
      "an error that was caught, and another one of the same type", "0 code",
      {
        _ = try? await step("cache") { throw Busy(number: 1) }
        throw Busy(number: 2)
      }
    ),
    (
      "an object that was caught, and another one", "0 code",
      {
        _ = try? await step("cache") { throw Lost() }
        throw Lost()
      }
    ),
    (
      "an object that was caught and thrown again after another one", "0 charge",
      {
        let lost = Lost()
        _ = try? await step("charge") { throw lost }
        _ = try? await step("note") { throw Lost() }
        throw lost
      }
    ),
    (
      "the first of two child tasks that fail alike", "0 first",
      {
        let begun = Once<Void>()
        try await withThrowingTaskGroup(of: Void.self) { group in
          group.addTask {
            try await step("second") {
              begun.settle(())
              await CancellationToken().waitForCancellation()
              throw Busy(number: 2)
            }
          }
          await begun.valueIgnoringCancellation()
          group.addTask { try await step("first") { throw Busy(number: 1) } }
          try await group.next()
          group.cancelAll()
        }
      }
    ),
    (
      "an error of a nested run that was caught", "0 code",
      {
        let nested = Chain("nested") { () in try await step("inner") { throw Fault(1) } }
        _ = try? await nested.run()
        throw Fault(2)
      }
    ),
  ]

  // G41
  @Test(arguments: bodies.map(\.title), [false, true])
  func `The failed step is the one whose error ends the run`(title: String, isNested: Bool) async throws {
    let failing = try #require(Self.bodies.first { $0.title == title })
    let seen = Recorder<String>()
    let code = Chain("code") { () in try await failing.body() }
    let chain = (isNested ? Chain("before") {}.appending(code) : code)
      .onError { _, step in seen.record("\(step.index) \(step)") }
    let expected = isNested ? "1" + failing.step.dropFirst() : failing.step
    _ = await resultOf { try await chain.run() }
    let run = chain.start()
    _ = await run.outcome
    #expect(seen.elements == [expected, expected])
    #expect(line(run.failedStep) == expected)
  }

  // G41
  @Test func `An equal error of a later step names that step`() async {
    let nested = Chain("nested") { () in try await step("inner") { throw Fault(1) } }.recover { _ in }
    let chain = Chain("first") { () in _ = try? await step("cache") { throw Fault(1) } }
      .appending(nested)
      .then("third") { throw Fault(1) }
    let run = chain.start()
    _ = await run.outcome
    #expect(line(run.failedStep) == "2 third")
  }

  // G41
  @Test func `A time limit names the step that it has cancelled`() throws {
    let clock = ManualClock()
    let chain = Chain("code") { () in
      _ = try? await step("cache") { throw Fault(1) }
      try await step("slow") { try await clock.sleep(for: .seconds(60)) }
    }
    .timeout(.seconds(1), clock: clock)
    try SeededExecutor(seed: 1, clock: clock).run {
      let run = chain.start()
      _ = await run.outcome
      #expect(line(run.failedStep) == "0 slow")
    }
  }
}
