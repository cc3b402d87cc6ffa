// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RecoverTests {
  private struct Other: Error {}

  private func failing(_ error: any Error) -> Chain<Int, Int> {
    Chain { (number: Int) in number }.then { _ in throw error }
  }

  // G8
  @Test func `recover replaces the error with a value and the chain continues`() async throws {
    let chain = failing(Fault(4)).recover { error in (error as? Fault)?.number ?? 0 }.then { $0 + 1 }
    #expect(try await chain.run(0) == 5)
    #expect(try await chain.start(0).value == 5)
  }

  @Test func `recover is not called without an error`() async throws {
    let called = Recorder<Int>()
    let chain = Chain { (number: Int) in number }.recover { _ in
      called.record(1)
      return 0
    }
    #expect(try await chain.run(3) == 3)
    #expect(called.elements.isEmpty)
  }

  @Test func `recover(from:) replaces errors of that type only`() async throws {
    let other = failing(Other()).recover(from: Fault.self) { $0.number }
    await #expect(throws: Other.self) { try await other.run(0) }
    let same = failing(Fault(6)).recover(from: Other.self) { _ in 1 }.recover(from: Fault.self) { $0.number }
    #expect(try await same.run(0) == 6)
  }

  private protocol Retriable { var delay: Int { get } }
  private struct Busy: Error, Retriable { let delay = 3 }
  private class Refusal: Error, @unchecked Sendable {}
  private final class Blocked: Refusal, @unchecked Sendable {}

  // G167
  @Test func `recover(from:) takes a protocol, a composition or a base class`() async throws {
    let retriable = { failing($0).recover(from: (any Retriable).self) { error in error.delay } }
    #expect(try await retriable(Busy()).run(0) == 3)
    await #expect(throws: Fault(1)) { try await retriable(Fault(1)).run(0) }
    let composed = failing(Busy()).recover(from: (any Retriable & Error).self) { error in error.delay + 1 }
    #expect(try await composed.run(0) == 4)
    let all = failing(Other()).recover(from: (any Error).self) { error in error is Other ? 5 : 6 }
    #expect(try await all.start(0).value == 5)
    #expect(try await failing(Blocked()).recover(from: Refusal.self) { $0 is Blocked ? 7 : 8 }.run(0) == 7)
  }

  @Test func `A recover that throws replaces the error with its own`() async throws {
    let log = Recorder<String>()
    let chain = failing(Fault(1)).recover { _ in throw Fault(2) }.onError { log.record("\($0)") }
    await #expect(throws: Fault(2)) { try await chain.run(0) }
    #expect(log.elements == ["\(Fault(2))"])
  }

  @Test func `A later recover replaces the error of an earlier one`() async throws {
    let log = Recorder<String>()
    let chain = failing(Fault(1))
      .recover { error in
        log.record("first \(error)")
        throw Fault(2)
      }
      .recover { error in
        log.record("second \(error)")
        return 7
      }
      .recover { _ in
        log.record("third")
        return 8
      }
    #expect(try await chain.run(0) == 7)
    #expect(log.elements == ["first \(Fault(1))", "second \(Fault(2))"])
  }

  @Test func `Each recover covers the steps before it alone`() async throws {
    let chain = failing(Fault(1)).recover { _ in 1 }
      .then { number -> Int in throw Fault(number + 10) }
      .recover { error in (error as? Fault)?.number ?? 0 }
      .then { $0 * 2 }
    #expect(try await chain.run(0) == 22)
    let late = Chain { (number: Int) in number }.recover { _ in 1 }.then { _ -> Int in throw Fault(3) }
    await #expect(throws: Fault(3)) { try await late.run(0) }
  }

  @Test func `The steps between the error and the recover are skipped`() async throws {
    let entered = Recorder<Int>()
    let chain = failing(Fault(1)).then { number in
      entered.record(number)
      return number
    }
    .recover { _ in 3 }
    .then { number in
      entered.record(number)
      return number
    }
    #expect(try await chain.run(0) == 3)
    #expect(entered.elements == [3])
  }

  // G8
  @Test func `recover leaves completed steps in effect`() async throws {
    let log = Recorder<String>()
    let chain = Chain { (number: Int) in number }
      .then("a", undo: { _ in log.record("undo a") }) { $0 }
      .then { _ -> Int in throw Fault(1) }
      .recover { _ in 0 }
      .then("b", undo: { _ in log.record("undo b") }) { $0 }
    #expect(try await chain.run(1) == 0)
    #expect(log.elements.isEmpty)
    await #expect(throws: Fault(2)) { try await chain.then { _ -> Int in throw Fault(2) }.run(1) }
    #expect(log.elements == ["undo b", "undo a"])
  }

  // G9
  /// Nothing that catches everything swallows cancellation.
  @Test(arguments: [true, false])
  func `recover never replaces cancellation`(throwsItsOwn: Bool) async {
    let recovered = Recorder<String>()
    let turnstile = Turnstile()
    let chain = Chain { (number: Int) in
      do { try await turnstile.pass() } catch { throw throwsItsOwn ? Fault(9) : error }
      return number
    }
    .recover { error in
      recovered.record("any")
      return 0
    }
    .recover(from: CancellationError.self) { _ in
      recovered.record("from")
      return 0
    }
    let run = chain.start(1)
    await turnstile.visitors(atLeast: 1)
    run.cancel(reason: "stop")
    #expect(await run.outcome.brief == "cancelled stop" + (throwsItsOwn ? " \(Fault(9))" : ""))
    #expect(recovered.elements.isEmpty)
  }

  @Test func `A recover is interrupted like a step`() async {
    let turnstile = Turnstile()
    let run = failing(Fault(1)).recover { _ in
      try await turnstile.pass()
      return 0
    }
    .recover { _ in 1 }
    .start(0)
    await turnstile.visitors(atLeast: 1)
    run.cancel(reason: "stop")
    #expect(await run.outcome.brief == "cancelled stop")
  }
}
