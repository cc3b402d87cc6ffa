// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The order of completion: step, recover, undo, onError, finally, then the tasks that await the run.
@Suite(.timeLimit(.minutes(5)))
struct OrderTests {
  private func makeChain(_ log: Recorder<String>) -> Chain<Int, Int> {
    Chain("first") { (number: Int) in
      log.record("first \(number)")
      return number + 1
    }
    .finally { _ in log.record("finally 1") }
    .onError { _ in log.record("onError 1") }
    .then("second", undo: { _ in log.record("undo second") }) { number in
      log.record("second \(number)")
      return number + 1
    }
    .then { number in
      log.record("third \(number)")
      guard number < 10 else { throw Fault(number) }
      return number
    }
    .recover { error in
      log.record("recover")
      throw error
    }
    .onError { _ in log.record("onError 2") }
    .finally { _ in log.record("finally 2") }
  }

  // G1
  @Test func `Steps run in order, each on the previous output`() async throws {
    let log = Recorder<String>()
    #expect(try await makeChain(log).run(1) == 3)
    log.record("awaiter")
    #expect(log.elements == ["first 1", "second 2", "third 3", "finally 2", "finally 1", "awaiter"])
  }

  private static let failing = [
    "first 8", "second 9", "third 10", "recover", "undo second", "onError 1", "onError 2", "finally 2", "finally 1",
    "awaiter",
  ]

  // G7
  @Test
  func `A run ends with recover, undos, onError and finally, in order`() async {
    let log = Recorder<String>()
    await #expect(throws: Fault(10)) { try await makeChain(log).run(8) }
    log.record("awaiter")
    #expect(log.elements == Self.failing)
  }

  @Test(arguments: ["value", "outcome", "completion", "events"])
  func `Waiters of a started run come last`(how: String) async {
    let log = Recorder<String>()
    let chain = makeChain(log)
    switch how {
    case "value":
      _ = try? await chain.start(8).value
      log.record("awaiter")
    case "outcome":
      _ = await chain.start(8).outcome
      log.record("awaiter")
    case "completion":
      chain.start(8) { _ in log.record("awaiter") }
    default:
      #expect(await briefEvents(of: chain.start(8)).last == "failed \(Fault(10))")
      log.record("awaiter")
    }
    #expect(await log.elements(atLeast: 10) == Self.failing)
  }

  // G7
  @Test func `The order is the same for every seed`() throws {
    for seed in seeds() {
      let log = Recorder<String>()
      try SeededExecutor(seed: seed).run {
        let chain = makeChain(log)
        let other = makeChain(Recorder())
        async let beside = try? other.run(1)
        if seed.isMultiple(of: 2) { _ = try? await chain.run(8) } else { _ = await chain.start(8).outcome }
        log.record("awaiter")
        _ = await beside
      }
      try #require(log.elements == Self.failing, "seed \(seed)")
    }
  }

  // G6
  /// A whole-chain handler covers the whole chain wherever it stands; a positional one what is before it.
  @Test func `Modifiers of the whole chain may stand anywhere`() async {
    let log = Recorder<String>()
    let chain = Chain { (number: Int) in number }
      .onError { log.record("onError \($0)") }
      .recover { _ in
        log.record("recover")
        return 0
      }
      .finally { log.record("finally \($0.brief)") }
      .then { _ -> Int in throw Fault(1) }
    await #expect(throws: Fault(1)) { try await chain.run(1) }
    #expect(log.elements == ["onError \(Fault(1))", "finally failed \(Fault(1))"])
  }

  // G6
  @Test func `Positional modifiers cover the steps before them`() async throws {
    let log = Recorder<String>()
    let failures = Recorder<Int>()
    let chain = Chain { (number: Int) in
      log.record("first")
      return number
    }
    .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
    .then { number in
      log.record("second")
      failures.record(number)
      guard failures.elements.count > 1 else { throw Fault(1) }
      return number
    }
    .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
    .then { number -> Int in
      log.record("third")
      throw Fault(3)
    }
    .timeout(.seconds(60), clock: ManualClock())
    .recover { _ in 9 }
    .then { $0 + 1 }
    #expect(try await chain.run(1) == 10)
    #expect(log.elements == ["first", "second", "first", "second", "third"])
  }

  @Test func `A nested chain groups its steps`() async throws {
    let attempts = Recorder<String>()
    let flaky = Chain { (number: Int) in
      attempts.record("inner")
      guard attempts.elements.count > 2 else { throw Fault(1) }
      return number
    }
    let chain = Chain { (number: Int) in
      attempts.record("outer")
      return number
    }
    .appending(flaky.retry(RetryPolicy(maxAttempts: 3, backoff: .none)))
    #expect(try await chain.run(4) == 4)
    #expect(attempts.elements == ["outer", "inner", "inner"])
  }
}
