// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct ErrorTests {
  private final class Identified: Error {}

  // G3
  @Test(arguments: [0, 1, 2])
  func `The error is thrown unwrapped and later steps do not run`(failing: Int) async throws {
    let entered = Recorder<Int>()
    let thrown = Identified()
    var chain = Chain { (number: Int) in number }
    for step in 0..<3 {
      chain = chain.then { number in
        entered.record(step)
        if step == failing { throw thrown }
        return number
      }
    }
    for started in [false, true] {
      let caught = await #expect(throws: Identified.self) {
        if started { try await chain.start(0).value } else { try await chain.run(0) }
      }
      #expect(caught === thrown)
    }
    #expect(entered.elements == Array(0...failing) + Array(0...failing))
  }

  @Test func `Outcome and events have the error, too`() async {
    let run = Chain("boom") { (number: Int) -> Int in throw Fault(number) }.start(3)
    #expect(await run.outcome.brief == "failed \(Fault(3))")
    let events = await briefEvents(of: run)
    #expect(events == ["started", "begin boom", "end boom \(Fault(3))", "failed \(Fault(3))"])
    #expect(run.isFinished)
    #expect(run.undoErrors.isEmpty)
  }

  @Test func `A failed run leaves the chain unchanged`() async throws {
    let chain = Chain { (number: Int) in
      guard number > 0 else { throw Fault(number) }
      return number
    }
    await #expect(throws: Fault(0)) { try await chain.run(0) }
    #expect(try await chain.run(1) == 1)
    #expect(chain.runsInFlight == 0)
  }

  // G22
  /// Cancellation is a third outcome, but only when it was requested.
  @Test(arguments: [false, true])
  func `A CancellationError without a request is an error like any other`(started: Bool) async {
    let log = Recorder<String>()
    let chain = Chain { (number: Int) in number }
      .then("done", undo: { _ in log.record("undo") }) { $0 }
      .then { _ -> Int in throw CancellationError() }
      .onError { log.record("onError \($0)") }
      .finally { log.record("finally \($0.brief)") }
    await #expect(throws: CancellationError.self) {
      if started { try await chain.start(0).value } else { try await chain.run(0) }
    }
    #expect(log.elements == ["undo", "onError CancellationError()", "finally failed CancellationError()"])
  }

  @Test
  func `A CancellationError without a request is recovered and retried`() async throws {
    let attempts = Recorder<Int>()
    let chain = Chain { (number: Int) -> Int in
      attempts.record(number)
      throw CancellationError()
    }
    .retry(RetryPolicy(maxAttempts: 3, backoff: .none))
    .recover(from: CancellationError.self) { _ in 5 }
    #expect(try await chain.run(1) == 5)
    #expect(attempts.elements.count == 3)
  }
}
