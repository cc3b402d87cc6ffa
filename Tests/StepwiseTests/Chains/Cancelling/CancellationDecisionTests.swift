// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// How a run ends is decided once, when its last step or attempt has ended.
@Suite(.timeLimit(.minutes(5)))
struct CancellationDecisionTests {
  enum Moment: CaseIterable, Sendable { case undo, onError, finally }

  /// A chain that fails and stays in one of its handlers.
  private func makeChain(_ moment: Moment, _ turnstile: Turnstile, _ log: Recorder<String>) -> Chain<Int, Int> {
    Chain { (number: Int) in number }
      .then("a", undo: { _ in if moment == .undo { await turnstile.passWhateverHappens() } }) { $0 }
      .then { _ -> Int in throw Fault(1) }
      .onError { error in
        log.record("onError \(error)")
        if moment == .onError { await turnstile.passWhateverHappens() }
      }
      .finally { _ in if moment == .finally { await turnstile.passWhateverHappens() } }
      .finally { log.record($0.brief) }
  }

  // G26
  @Test(arguments: Moment.allCases)
  func `cancel during handlers changes nothing and returns false`(moment: Moment) async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let chain = makeChain(moment, turnstile, log)
    let run = chain.start(1)
    await turnstile.visitors(atLeast: 1)
    #expect(!run.cancel(reason: "too late"))
    chain.cancelRuns(reason: "too late")
    turnstile.open()
    #expect(await run.outcome.brief == "failed \(Fault(1))")
    #expect(await briefEvents(of: run).last == "failed \(Fault(1))")
    await #expect(throws: Fault(1)) { try await run.value }
    #expect(log.elements.sorted() == ["failed \(Fault(1))", "onError \(Fault(1))"])
    #expect(!run.cancel())
  }

  @Test(arguments: Moment.allCases)
  func `A plain run is decided with its last step, too`(moment: Moment) async {
    let log = Recorder<String>()
    let turnstile = Turnstile()
    let chain = makeChain(moment, turnstile, log)
    let task = Task { try await chain.run(1) }
    await turnstile.visitors(atLeast: 1)
    task.cancel()
    chain.cancelRuns(reason: "too late")
    chain.cancellationToken.cancel(reason: "too late")
    turnstile.open()
    #expect(await task.result.brief == "failure \(Fault(1))")
    #expect(log.elements.sorted() == ["failed \(Fault(1))", "onError \(Fault(1))"])
  }

  // G25
  @Test func `The first cancel gives the reason`() async {
    let turnstile = Turnstile()
    let chain = Chain { () in try await turnstile.pass() }
    let run = chain.start()
    await turnstile.visitors(atLeast: 1)
    #expect(run.cancel(reason: "first"))
    #expect(!run.cancel(reason: "second"))
    chain.cancellationToken.cancel(reason: "third")
    #expect(await run.outcome.brief == "cancelled first")
    #expect(!run.cancel(reason: "fourth"))
  }

  @Test func `cancel returns true once and false after the end`() async throws {
    let run = Chain { 1 }.start()
    _ = try await run.value
    #expect(!run.cancel())
    #expect(await run.outcome.brief == "resolved 1")
  }

  @Test func `A reason is optional`() async {
    let run = Chain { () in try await Turnstile().pass() }.start()
    #expect(run.cancel())
    #expect(await run.outcome.brief == "cancelled -")
  }

  /// An error before the request stands; the request decides only what is thrown after it.
  @Test func `An error before the cancel stands`() async {
    let turnstile = Turnstile()
    let chain = Chain { () -> Int in throw Fault(1) }.onError { _ in await turnstile.passWhateverHappens() }
    let run = chain.start()
    await turnstile.visitors(atLeast: 1)
    run.cancel()
    turnstile.open()
    #expect(await run.outcome.brief == "failed \(Fault(1))")
  }

  @Test func `A cancel during the undo of an attempt is a cancel`() async {
    let turnstile = Turnstile()
    let log = Recorder<String>()
    let chain = Chain { 1 }
      .then("a", undo: { _ in await turnstile.passWhateverHappens() }) { $0 }
      .then { _ -> Int in
        log.record("attempt")
        throw Fault(1)
      }
      .retry(RetryPolicy(maxAttempts: 3, backoff: .none))
    let run = chain.start()
    await turnstile.visitors(atLeast: 1)
    #expect(run.cancel(reason: "enough"))
    turnstile.open()
    #expect(await run.outcome.brief == "cancelled enough \(Fault(1))")
    #expect(log.elements.count == 1)
  }
}
