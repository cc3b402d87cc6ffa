// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct OnErrorTests {
  // G10
  @Test(arguments: [false, true])
  func `Each onError handler is called once, and the error is rethrown`(started: Bool) async {
    let log = Recorder<String>()
    var chain = Chain { (number: Int) -> Int in throw Fault(number) }
    for number in 0..<5 { chain = chain.onError { log.record("\(number) \($0)") } }
    await #expect(throws: Fault(3)) {
      if started { try await chain.start(3).value } else { try await chain.run(3) }
    }
    #expect(log.elements == (0..<5).map { "\($0) \(Fault(3))" })
  }

  @Test func `onError handlers run in the order of attachment`() async {
    let log = Recorder<String>()
    let chain = Chain { (number: Int) in number }.onError { _ in log.record("a") }
      .then { $0 }.onError { _ in log.record("b") }
      .then { _ -> Int in throw Fault(1) }
      .then { $0 }.onError { _ in log.record("c") }
    await #expect(throws: Fault(1)) { try await chain.run(1) }
    #expect(log.elements == ["a", "b", "c"])
  }

  @Test func `onError is not called for a value`() async throws {
    let log = Recorder<String>()
    #expect(try await Chain { 1 }.onError { log.record("\($0)") }.run() == 1)
    #expect(log.elements.isEmpty)
  }

  // G10
  @Test func `onError is not called for errors that were retried or recovered`() async throws {
    let log = Recorder<String>()
    let attempts = Recorder<Int>()
    let flaky = Chain { () -> Int in
      attempts.record(0)
      if attempts.elements.count < 3 { throw Fault(attempts.elements.count) }
      return 1
    }
    .onError { log.record("\($0)") }
    #expect(try await flaky.retry(RetryPolicy(maxAttempts: 3, backoff: .none)).run() == 1)
    let recovered = Chain { () -> Int in throw Fault(1) }.onError { log.record("\($0)") }.recover { _ in 2 }
    #expect(try await recovered.run() == 2)
    #expect(log.elements.isEmpty)
  }

  @Test
  func `onError receives only the error that the run ends with`() async {
    let log = Recorder<String>()
    let attempts = Recorder<Int>()
    let chain = Chain { () -> Int in
      attempts.record(0)
      throw Fault(attempts.elements.count)
    }
    .retry(RetryPolicy(maxAttempts: 3, backoff: .none))
    .onError { log.record("\($0)") }
    await #expect(throws: Fault(3)) { try await chain.run() }
    #expect(log.elements == ["\(Fault(3))"])
  }

  // G11
  @Test func `onError is never called for cancellation`() async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let chain = Chain { () -> Int in
      do { try await turnstile.pass() } catch { throw Fault(1) }
      return 1
    }
    .onError { log.record("\($0)") }
    let run = chain.start()
    await turnstile.visitors(atLeast: 1)
    run.cancel()
    #expect(await run.outcome.brief == "cancelled - \(Fault(1))")
    let task = Task { try await chain.run() }
    await turnstile.visitors(atLeast: 2)
    task.cancel()
    #expect(await task.result.brief == "failure CancellationError()")
    #expect(log.elements.isEmpty)
  }

  @Test func `onError may await and the run waits for it`() async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let chain = Chain { () -> Int in throw Fault(1) }
      .onError { _ in
        await turnstile.passWhateverHappens()
        log.record("handled")
      }
      .finally { _ in log.record("finally") }
    let run = chain.start()
    await turnstile.visitors(atLeast: 1)
    #expect(!run.isFinished)
    #expect(log.elements.isEmpty)
    turnstile.open()
    #expect(await run.outcome.brief == "failed \(Fault(1))")
    #expect(log.elements == ["handled", "finally"])
  }
}
