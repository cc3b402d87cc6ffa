// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// A chain appended to another keeps what is its own for its own part.
@Suite(.timeLimit(.minutes(5)))
struct NestedChainTests {
  private func inner(_ log: Recorder<String>, fails: Bool = false) -> Chain<Int, Int> {
    Chain("inner") { (number: Int) in number }
      .then("b", undo: { _ in log.record("undo b") }) { number in
        log.record("b")
        return number + 1
      }
      .then { number in
        if fails { throw Fault(1) }
        return number
      }
      .onError { log.record("inner onError \($0)") }
      .finally { log.record("inner finally \($0.brief)") }
  }

  private func outer(_ log: Recorder<String>, _ inner: Chain<Int, Int>, fails: Bool = false) -> Chain<Int, Int> {
    Chain("outer") { (number: Int) in number }
      .then("a", undo: { _ in log.record("undo a") }) { number in
        log.record("a")
        return number + 1
      }
      .appending(inner)
      .then("c", undo: { _ in log.record("undo c") }) { number in
        log.record("c")
        return number + 1
      }
      .then { number in
        if fails { throw Fault(2) }
        return number
      }
      .onError { log.record("outer onError \($0)") }
      .finally { log.record("outer finally \($0.brief)") }
  }

  // G14
  @Test func `A nested chain's handlers run before the outer ones`() async throws {
    let log = Recorder<String>()
    #expect(try await outer(log, inner(log)).run(0) == 3)
    #expect(log.elements == ["a", "b", "inner finally resolved 2", "c", "outer finally resolved 3"])
  }

  @Test func `An error goes to the nested chain's handlers first`() async {
    let log = Recorder<String>()
    await #expect(throws: Fault(1)) { try await outer(log, inner(log, fails: true)).run(0) }
    #expect(
      log.elements == [
        "a", "b", "undo b", "inner onError \(Fault(1))", "inner finally failed \(Fault(1))",
        "undo a", "outer onError \(Fault(1))", "outer finally failed \(Fault(1))",
      ]
    )
  }

  // G15
  @Test func `The outer run adopts a nested chain's undos`() async {
    let log = Recorder<String>()
    await #expect(throws: Fault(2)) { try await outer(log, inner(log), fails: true).run(0) }
    #expect(
      log.elements == [
        "a", "b", "inner finally resolved 2", "c", "undo c", "undo b", "undo a",
        "outer onError \(Fault(2))", "outer finally failed \(Fault(2))",
      ]
    )
  }

  // G15
  @Test func `Errors of adopted undos belong to the outer run`() async {
    let log = Recorder<String>()
    let inner = Chain { (number: Int) in number }
      .then("b", undo: { _ in throw Fault(7) }) { $0 }
      .onError { log.record("inner \($0)") }
    let chain = Chain { (number: Int) in number }.appending(inner).then { _ -> Int in throw Fault(1) }
      .onError { log.record("outer \($0)") }
    let run = chain.start(0)
    _ = await run.outcome
    #expect(log.elements == ["outer \(Fault(1))", "outer b could not be undone: \(Fault(7))"])
    #expect(run.undoErrors.map(\.step) == ["b"])
  }

  @Test func `A nested chain's recover covers only its steps`() async throws {
    let nested = Chain { (number: Int) -> Int in throw Fault(number) }.recover { _ in 5 }
    #expect(try await Chain { (number: Int) in number }.appending(nested).then { $0 + 1 }.run(1) == 6)
  }

  @Test func `An outer recover replaces a nested error after its handlers`() async throws {
    let log = Recorder<String>()
    let chain = outer(log, inner(log, fails: true)).recover { error in
      log.record("recover")
      return 9
    }
    #expect(try await chain.run(0) == 9)
    #expect(
      log.elements == [
        "a", "b", "undo b", "inner onError \(Fault(1))", "inner finally failed \(Fault(1))", "recover",
        "outer finally resolved 9",
      ]
    )
  }

  @Test(arguments: ["run", "start"])
  func `The outer cancellation reaches a nested chain with its reason`(how: String) async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let inner = Chain { (number: Int) in try await turnstile.pass() }
      .onError { _ in log.record("onError") }
      .finally { log.record("inner \($0.brief)") }
    let chain = Chain { (number: Int) in number }.appending(inner).finally { log.record("outer \($0.brief)") }
    if how == "run" {
      let token = CancellationToken()
      let task = Task { try await withCancellation(by: token) { try await chain.run(0) } }
      await turnstile.visitors(atLeast: 1)
      token.cancel(reason: "left")
      _ = await task.result
    } else {
      let run = chain.start(0)
      await turnstile.visitors(atLeast: 1)
      run.cancel(reason: "left")
      _ = await run.outcome
    }
    #expect(log.elements == ["inner cancelled left", "outer cancelled left"])
  }

  /// The outer run was not cancelled: for it, what the inner one throws is an error like any other.
  @Test(arguments: ["token", "late token", "cancelRuns"], [false, true])
  func `A nested chain that is cancelled alone fails the outer run`(how: String, started: Bool) async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let inner = Chain { (number: Int) in
      if how == "token" { try await turnstile.pass() } else { await turnstile.passWhateverHappens() }
    }
    .then { log.record("not reached") }
    .onError { _ in log.record("inner onError") }
    .finally { log.record("inner \($0.brief)") }
    if how == "token" { _ = inner.cancellationToken }
    let chain = Chain { (number: Int) in number }.appending(inner)
      .onError { log.record("onError \($0)") }
      .finally { log.record("outer \($0.brief)") }
    let task = Task { if started { try await chain.start(0).value } else { try await chain.run(0) } }
    await turnstile.visitors(atLeast: 1)
    #expect(inner.runsInFlight == 1)
    if how == "cancelRuns" {
      inner.cancelRuns(reason: how)
    } else {
      inner.cancellationToken.cancel(reason: how)
    }
    turnstile.open()
    #expect(await task.result.brief == "failure CancellationError()")
    #expect(
      log.elements == [
        "inner cancelled \(how)", "onError CancellationError()", "outer failed CancellationError()",
      ]
    )
    #expect(inner.runsInFlight == 0)
  }

  @Test func `A nested chain keeps its overlap policy`() async throws {
    let inside = Recorder<Int>()
    let turnstile = Turnstile()
    let inner = Chain { (number: Int) in
      inside.record(number)
      if number == 0 { await turnstile.passWhateverHappens() }
      return number
    }
    .overlap(.serial)
    let chain = Chain { (number: Int) in number }.appending(inner)
    let first = chain.start(0)
    await inside.elements(atLeast: 1)
    let second = chain.start(1)
    let third = inner.start(2)
    while inner.runsInFlight < 3 { await Task.yield() }
    #expect(inside.elements == [0])
    turnstile.open()
    #expect(await first.outcome.brief == "resolved 0")
    #expect(await second.outcome.brief == "resolved 1")
    #expect(await third.outcome.brief == "resolved 2")
  }

  @Test func `A refused nested chain fails the outer run`() async {
    let turnstile = Turnstile()
    let inner = Chain { (number: Int) in await turnstile.passWhateverHappens() }.overlap(.dropNew)
    let blocking = inner.start(0)
    await turnstile.visitors(atLeast: 1)
    let outer = Chain { (number: Int) in number }.appending(inner).start(0)
    #expect(await outer.outcome.brief == "failed CancellationError()")
    turnstile.open()
    _ = await blocking.outcome
  }

  @Test
  func `A nested chain's error is the underlying error of both runs`() async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let inner = Chain { (number: Int) in
      do { try await turnstile.pass() } catch { throw Fault(5) }
    }
    .finally { log.record("inner \($0.brief)") }
    for taken in [false, true] {
      if taken { _ = inner.cancellationToken }
      let run = Chain { (number: Int) in number }.appending(inner).start(0)
      await turnstile.visitors(atLeast: taken ? 2 : 1)
      run.cancel(reason: "left")
      #expect(await run.outcome.brief == "cancelled left \(Fault(5))")
    }
    #expect(log.elements == Array(repeating: "inner cancelled left \(Fault(5))", count: 2))
  }

  @Test func `A chain may be nested in many others at once`() async throws {
    let shared = Chain { (number: Int) in number + 1 }
    let chain = shared.appending(shared).appending(shared).appending(
      Chain { (number: Int) in number }.appending(shared)
    )
    #expect(try await chain.run(0) == 4)
    #expect(try await shared.run(0) == 1)
  }
}
