// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import TestSupport
import Testing

/// A retry and a time limit mean the same in every form.
@Suite(.timeLimit(.minutes(5)))
struct AttemptTests {
  enum Retry: CaseIterable, Sendable { case chain, step, stepFunction, stepFunctionWithUndo }
  enum Limit: CaseIterable, Sendable { case chain, abandon, step, stepFunction, stepFunctionWithUndo }
  /// How the work under a limit fails.
  enum Failure: CaseIterable, Sendable { case error, time }

  private let clock = ManualClock()
  private let log = Recorder<String>()
  private let attempts = Tally()

  private func reserve() async throws -> Int {
    let (log, number) = (log, attempts.increment())
    try await step("reserve") {
      log.record("reserved \(number)")
    } undo: {
      log.record("released \(number)")
    }
    return number
  }

  private func retried(_ form: Retry, _ policy: RetryPolicy, _ body: @escaping @Sendable () async throws -> Int)
    -> Chain<Int, Int>
  {
    switch form {
    case .chain: Chain("book") { (_: Int) in try await body() }.retry(policy, clock: clock)
    case .step: Chain(Step("book") { (_: Int) in try await body() }.retry(policy, clock: clock))
    case .stepFunction:
      Chain("book") { [clock] (_: Int) in try await step("s", retry: policy, clock: clock) { try await body() } }
    case .stepFunctionWithUndo:
      Chain("book") { [clock] (_: Int) in
        try await step("s", retry: policy, clock: clock) {
          try await body()
        } undo: {
        }
      }
    }
  }

  private func limited(_ form: Limit, _ body: @escaping @Sendable () async throws -> Int) -> Chain<Int, Int> {
    let limit = Duration.seconds(5)
    return switch form {
    case .chain: Chain("book") { (_: Int) in try await body() }.timeout(limit, clock: clock)
    case .abandon: Chain("book") { (_: Int) in try await body() }.abandon(after: limit, clock: clock)
    case .step: Chain(Step("book") { (_: Int) in try await body() }.timeout(limit, clock: clock))
    case .stepFunction:
      Chain("book") { [clock] (_: Int) in try await step("s", timeout: limit, clock: clock) { try await body() } }
    case .stepFunctionWithUndo:
      Chain("book") { [clock] (_: Int) in
        try await step("s", timeout: limit, clock: clock) {
          try await body()
        } undo: {
        }
      }
    }
  }

  // G36, G43
  @Test(arguments: Retry.allCases)
  func `Each failed attempt undoes what it completed before the next one, or before its error leaves`(
    form: Retry
  ) async throws {
    let (log, attempts) = (log, attempts)
    let chain = retried(form, RetryPolicy(maxAttempts: 2, backoff: .none)) {
      _ = try await reserve()
      throw Fault(attempts.total)
    }
    let whole = chain.recover { error in
      log.record("recovered \(error)")
      return 0
    }
    #expect(try await whole.run(1) == 0)
    #expect(
      log.elements == [
        "reserved 1", "released 1", "reserved 2", "released 2", "recovered \(Fault(2))",
      ]
    )
  }

  // G36, G43
  @Test(arguments: Limit.allCases, Failure.allCases)
  func `Work under a time limit undoes what it completed before its error leaves`(
    form: Limit,
    failure: Failure
  ) async throws {
    let (clock, log) = (clock, log)
    let chain = limited(form) {
      _ = try await reserve()
      if failure == .error { throw Fault(1) }
      try await clock.sleep(for: .seconds(60))
      return 1
    }
    let whole = chain.recover { _ in
      log.record("recovered")
      return 0
    }
    #expect(try await clock.run { try await whole.run(1) } == 0)
    #expect(log.elements == ["reserved 1", "released 1", "recovered"])
  }

  // G62
  @Test(arguments: Retry.allCases, ["cancelRuns", "token", "task", "around"])
  func `Every cancellation ends the delay before the next attempt`(form: Retry, source: String) async throws {
    let (attempts, token) = (attempts, CancellationToken())
    let chain = retried(form, RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(60)))) {
      throw Fault(attempts.increment())
    }
    let task = Task { try await withCancellation(by: token) { try await chain.run(1) } }
    await clock.sleepers(atLeast: 1)
    switch source {
    case "cancelRuns": chain.cancelRuns()
    case "token": chain.cancellationToken.cancel()
    case "task": task.cancel()
    default: token.cancel()
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(attempts.total == 1)
  }

  // G43
  @Test(arguments: Retry.allCases)
  func `A cancelled run undoes what its attempt completed with the rest, newest first`(form: Retry) async throws {
    let (clock, log) = (clock, log)
    let chain = Chain("first", undo: { (_: Int) in log.record("undo first") }) { (number: Int) in number }
      .appending(
        retried(form, RetryPolicy(maxAttempts: 2, backoff: .none)) {
          _ = try await reserve()
          try await clock.sleep(for: .seconds(60))
          return 1
        }
      )
    let run = chain.start(1)
    await clock.sleepers(atLeast: 1)
    run.cancel()
    _ = await run.outcome
    #expect(log.elements == ["reserved 1", "released 1", "undo first"])
  }
}
