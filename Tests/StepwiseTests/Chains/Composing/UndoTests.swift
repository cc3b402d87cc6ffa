// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct UndoTests {
  private func booking(_ log: Recorder<String>, failing: Set<String> = []) -> Chain<Int, Int> {
    var chain = Chain { (number: Int) in number }
    for name in ["a", "b", "c"] {
      chain = chain.then(
        name,
        undo: { number in
          log.record("undo \(name) \(number)")
          if failing.contains(name) { throw Fault(number) }
        }
      ) { number in
        log.record("\(name) \(number)")
        return number + 1
      }
    }
    return chain
  }

  @Test func `Completed steps of the sample are undone`() async {
    struct Receipt: Sendable, Equatable { let order: Int }
    let refunds = Recorder<Receipt>()
    @Sendable func refund(_ receipt: Receipt) async { refunds.record(receipt) }
    let chain = Chain { (order: Int) in order }
      .then("charge", undo: { receipt in await refund(receipt) }) { order in Receipt(order: order) }
      .then { receipt -> Receipt in throw Fault(receipt.order) }
    await #expect(throws: Fault(4)) { try await chain.run(4) }
    #expect(refunds.elements == [Receipt(order: 4)])
  }

  // G33
  @Test(arguments: [false, true])
  func `When a later step fails, the completed steps are undone, newest first`(started: Bool) async {
    let log = Recorder<String>()
    let chain = booking(log).then { _ -> Int in throw Fault(0) }
    await #expect(throws: Fault(0)) {
      if started { try await chain.start(1).value } else { try await chain.run(1) }
    }
    #expect(log.elements == ["a 1", "b 2", "c 3", "undo c 4", "undo b 3", "undo a 2"])
  }

  // G33
  @Test func `Completed steps are undone when the run is cancelled`() async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let run = booking(log).then { number in
      try await turnstile.pass()
      return number
    }
    .finally { log.record($0.brief) }
    .start(1)
    await turnstile.visitors(atLeast: 1)
    run.cancel(reason: "stop")
    _ = await run.outcome
    #expect(log.elements.suffix(4) == ["undo c 4", "undo b 3", "undo a 2", "cancelled stop"])
  }

  // G34
  @Test func `The failed step itself is not undone`() async {
    let log = Recorder<String>()
    let chain = booking(log).then("d", undo: { _ in log.record("undo d") }) { _ -> Int in throw Fault(1) }
    await #expect(throws: Fault(1)) { try await chain.run(1) }
    #expect(!log.elements.contains("undo d"))
  }

  // G34
  @Test func `Nothing is undone when the run has a value`() async throws {
    let log = Recorder<String>()
    #expect(try await booking(log).run(1) == 4)
    #expect(try await booking(log).start(1).value == 4)
    #expect(log.elements.count == 6)
  }

  @Test func `Steps after the error did not run and are not undone`() async {
    let log = Recorder<String>()
    let chain = Chain { (number: Int) in number }
      .then { _ -> Int in throw Fault(1) }
      .then("z", undo: { _ in log.record("undo z") }) { $0 }
    await #expect(throws: Fault(1)) { try await chain.run(1) }
    #expect(log.elements.isEmpty)
  }

  // G35
  /// Each is attempted even if another throws; the primary error is kept, the others are attached.
  @Test(arguments: [false, true])
  func `All undos are called, and the errors of those that throw reported`(started: Bool) async throws {
    let log = Recorder<String>()
    let chain = booking(log, failing: ["a", "c"]).then { _ -> Int in throw Fault(0) }
      .onError { log.record("first \($0)") }
      .onError { log.record("second \($0)") }
      .finally { log.record($0.brief) }
    let reports = [
      "first \(Fault(0))", "second \(Fault(0))",
      "first c could not be undone: \(Fault(4))", "second c could not be undone: \(Fault(4))",
      "first a could not be undone: \(Fault(2))", "second a could not be undone: \(Fault(2))",
      "failed \(Fault(0))",
    ]
    if started {
      let run = chain.start(1)
      await #expect(throws: Fault(0)) { try await run.value }
      #expect(run.undoErrors.map(\.step) == ["c", "a"])
      #expect(run.undoErrors.map { $0.underlyingError as? Fault } == [Fault(4), Fault(2)])
      let undone = await briefEvents(of: run).filter { $0.hasPrefix("undone") }
      #expect(undone == ["undone a \(Fault(2))", "undone b", "undone c \(Fault(4))"])
    } else {
      await #expect(throws: Fault(0)) { try await chain.run(1) }
    }
    #expect(Array(log.elements.dropFirst(6)) == reports)
  }

  // G35
  @Test func `An undo that throws is reported even on cancel`() async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let run = booking(log, failing: ["b"]).then { number in
      try await turnstile.pass()
      return number
    }
    .onError { log.record("onError \($0)") }
    .finally { log.record($0.brief) }
    .start(1)
    await turnstile.visitors(atLeast: 1)
    run.cancel()
    #expect(await run.outcome.brief == "cancelled -")
    let report = "onError b could not be undone: \(Fault(3))"
    #expect(log.elements.suffix(5) == ["undo c 4", "undo b 3", "undo a 2", report, "cancelled -"])
    #expect(run.undoErrors.map(\.step) == ["b"])
  }

  // G36
  @Test
  func `retry of a chain undoes a failed attempt before the next one`() async throws {
    let log = Recorder<String>()
    let chain = booking(log).then { number in
      guard log.elements.count > 8 else { throw Fault(0) }
      return number
    }
    .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
    #expect(try await chain.run(1) == 4)
    let attempt = ["a 1", "b 2", "c 3"]
    #expect(log.elements == attempt + ["undo c 4", "undo b 3", "undo a 2"] + attempt)
  }

  @Test func `Each attempt is undone once, the last one included`() async {
    let log = Recorder<String>()
    let chain = booking(log).then { _ -> Int in throw Fault(0) }.retry(RetryPolicy(maxAttempts: 3, backoff: .none))
    await #expect(throws: Fault(0)) { try await chain.run(1) }
    let attempt = ["a 1", "b 2", "c 3", "undo c 4", "undo b 3", "undo a 2"]
    #expect(log.elements == attempt + attempt + attempt)
  }

  // G36
  @Test func `A timeout undoes its steps before it throws`() async throws {
    let log = Recorder<String>()
    let clock = ManualClock()
    let turnstile = Turnstile()
    let chain = booking(log).then("slow") { number in
      try await turnstile.pass()
      return number
    }
    .timeout(.seconds(1), clock: clock)
    .recover { error in
      log.record("recover \(error)")
      return 0
    }
    let run = chain.start(1)
    await turnstile.visitors(atLeast: 1)
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(1))
    #expect(try await run.value == 0)
    #expect(log.elements.dropFirst(3).prefix(3) == ["undo c 4", "undo b 3", "undo a 2"])
    #expect(log.elements.last?.hasPrefix("recover slow did not end") == true)
    #expect(log.elements.count == 7)
  }

  @Test func `Steps covered by a timeout are undone when a later step fails`() async {
    let log = Recorder<String>()
    let chain = booking(log).timeout(.seconds(1), clock: ManualClock())
      .then("d", undo: { _ in log.record("undo d") }) { $0 }
      .then { _ -> Int in throw Fault(0) }
    await #expect(throws: Fault(0)) { try await chain.run(1) }
    #expect(log.elements == ["a 1", "b 2", "c 3", "undo d", "undo c 4", "undo b 3", "undo a 2"])
  }

  @Test func `Steps without a name are numbered`() async {
    let run = Chain { 1 }.then(undo: { _ in throw Fault(2) }) { $0 }.then { _ -> Int in throw Fault(1) }.start()
    _ = await run.outcome
    #expect(run.undoErrors.map(\.step) == ["step 1"])
  }

  /// A step that was created separately has its undo with it, through its modifiers and into a chain.
  @Test(arguments: [false, true])
  func `A separate Step can be undone`(isFirst: Bool) async {
    let log = Recorder<String>()
    let reserve = Step("reserve", undo: { (number: Int) in log.record("undo \(number)") }) { (number: Int) in number + 1
    }
    .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
    .timeout(.seconds(60))
    let chain = isFirst ? Chain(reserve) : Chain { (number: Int) in number }.appending(reserve)
    await #expect(throws: Fault(1)) { try await chain.then { _ in throw Fault(1) }.run(1) }
    #expect(log.elements == ["undo 2"])
    #expect((try? await chain.run(1)) == 2)
    #expect(log.elements == ["undo 2"])
  }
}
