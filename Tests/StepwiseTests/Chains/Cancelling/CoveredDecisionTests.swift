// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// How a run ends is decided when its last step ends, also where that step is under a modifier or in a chain of its own.
@Suite(.timeLimit(.minutes(5)))
struct CoveredDecisionTests {
  enum Cover: CaseIterable, Sendable {
    case nothing, timeout, abandon, executor, lastAttempt, nested, nestedTwice, nestedUnderTimeout, timeoutInNested
    case gated, zip, race, failsBesideASlowUndo
  }

  /// A chain whose last step fails, and whose undo, wherever it stands, stays until it is let on.
  private func failing(_ cover: Cover, _ turnstile: Turnstile) -> Chain<Int, Int> {
    let booked = Chain("a", undo: { _ in await turnstile.passWhateverHappens() }) { (number: Int) in number }
    let failing = booked.then { _ -> Int in throw Fault(1) }
    let clock = ManualClock()
    let entry = Chain { (number: Int) in number }
    switch cover {
    case .nothing: return failing
    case .timeout: return failing.timeout(.seconds(5), clock: clock)
    case .abandon: return failing.abandon(after: .seconds(5), clock: clock)
    case .executor: return failing.executor(globalConcurrentExecutor)
    case .lastAttempt: return failing.retry(RetryPolicy(maxAttempts: 1, backoff: .none))
    case .nested: return entry.appending(failing)
    case .nestedTwice: return entry.appending(entry.appending(failing).then { $0 })
    case .nestedUnderTimeout: return entry.appending(failing).timeout(.seconds(5), clock: clock).then { $0 }
    case .timeoutInNested: return entry.appending(failing.timeout(.seconds(5), clock: clock))
    case .gated: return entry.appending(failing.overlap(.serial))
    case .zip: return Chain.zip(failing, entry).then { $0 + $1 }
    case .race: return Chain.race(failing, failing)
    case .failsBesideASlowUndo: return Chain.zip(booked, entry.then { _ -> Int in throw Fault(1) }).then { $0 + $1 }
    }
  }

  private func expected(_ cover: Cover) -> String {
    let fault = "\(Fault(1))"
    return cover == .race ? "no chain of the race succeeded: \([Fault(1), Fault(1)])" : fault
  }

  // G23
  @Test(arguments: Cover.allCases)
  func aCancelDuringTheUndoChangesNothingAndCancelReturnsFalse(cover: Cover) async {
    let (log, turnstile) = (Recorder<String>(), Turnstile())
    let run = failing(cover, turnstile).onError { log.record("\($0)") }.finally { log.record($0.brief) }.start(1)
    await turnstile.visitors(atLeast: cover == .race ? 2 : 1)
    #expect(!run.cancel(reason: "too late"))
    turnstile.open()
    #expect(await run.outcome.brief == "failed \(expected(cover))")
    #expect(log.elements == [expected(cover), "failed \(expected(cover))"])
  }

  @Test(arguments: Cover.allCases)
  func theTaskOfAPlainRunIsCancelledTooLateThen(cover: Cover) async {
    let (log, turnstile) = (Recorder<String>(), Turnstile())
    let chain = failing(cover, turnstile).onError { log.record("\($0)") }
    let task = Task { try await chain.run(1) }
    await turnstile.visitors(atLeast: cover == .race ? 2 : 1)
    task.cancel()
    turnstile.open()
    #expect(await task.result.brief == "failure \(expected(cover))")
    #expect(log.elements == [expected(cover)])
  }

  /// Another attempt, or a replacement, may follow: so the run is not over yet.
  @Test(arguments: ["recover", "retry", "next"])
  func aCancelDuringTheUndoIsInTimeWhereSomethingMayFollow(what: String) async {
    let (log, turnstile) = (Recorder<String>(), Turnstile())
    let inner = failing(.nested, turnstile)
    let entry = Chain { (number: Int) in number }
    let chain =
      switch what {
      case "recover": inner.recover { _ in 7 }
      case "retry": inner.retry(RetryPolicy(maxAttempts: 2, backoff: .none))
      default: entry.appending(entry.finally { _ in await turnstile.passWhateverHappens() }).then { $0 }
      }
    let run = chain.onError { log.record("\($0)") }.start(1)
    await turnstile.visitors(atLeast: 1)
    #expect(run.cancel(reason: "in time"))
    turnstile.open()
    #expect(await run.outcome.cancellation?.reason == "in time")
    #expect(log.elements.isEmpty)
  }

  private struct Other: Error {}

  /// A `recover` of another error does not follow; one behind a time limit, which has an error of its own, may.
  @Test(arguments: ["other", "others", "zip", "same", "behindATimeout", "behindARace"])
  func aRecoverFollowsWhereItTakesTheError(what: String) async {
    let (log, turnstile) = (Recorder<String>(), Turnstile())
    let inner = failing(.nested, turnstile)
    let chain =
      switch what {
      case "other": inner.recover(from: Other.self) { _ in 7 }
      case "others": inner.recover(from: Other.self) { _ in 7 }.recover(from: TimeoutError.self) { _ in 7 }
      case "zip": failing(.zip, turnstile).recover(from: Other.self) { _ in 7 }
      case "same": inner.recover(from: Other.self) { _ in 7 }.recover(from: Fault.self) { _ in 7 }
      case "behindATimeout":
        inner.timeout(.seconds(5), clock: ManualClock()).recover(from: TimeoutError.self) { _ in 7 }
      default: failing(.race, turnstile).recover(from: RaceError.self) { _ in 7 }
      }
    let follows = ["same", "behindATimeout", "behindARace"].contains(what)
    let run = chain.onError { log.record("\($0)") }.start(1)
    await turnstile.visitors(atLeast: 1)
    #expect(run.cancel(reason: "stop") == follows)
    turnstile.open()
    let outcome = await run.outcome
    #expect(outcome.cancellation?.reason == (follows ? "stop" : nil))
    #expect(log.elements == (follows ? [] : ["\(Fault(1))"]))
  }

  /// The timer cancels the Task of the steps, not that of the run.
  @Test(arguments: [1, 2], ["before", "during", "not"])
  func aPlainRunIsDecidedWhenItsTimerEndsANestedChain(timers: Int, cancel: String) async {
    let (log, turnstile, clock, begun) = (Recorder<String>(), Turnstile(), ManualClock(), Turnstile())
    let nested = Chain("a", undo: { _ in await turnstile.passWhateverHappens() }) { (number: Int) in number }
      .then { number -> Int in
        try await begun.pass()
        return number
      }
    var chain = Chain { (number: Int) in number }.appending(nested)
    for _ in 0..<timers { chain = chain.timeout(.seconds(5), clock: clock) }
    let whole = chain.onError { log.record($0 is TimeoutError ? "timed out" : "\($0)") }
      .finally { log.record($0.brief) }
    let task = Task { try await whole.run(1) }
    await begun.visitors(atLeast: 1)
    await clock.sleepers(atLeast: timers)
    if cancel == "before" { task.cancel() } else { clock.advance(by: .seconds(5)) }
    await turnstile.visitors(atLeast: 1)
    if cancel == "during" { task.cancel() }
    turnstile.open()
    let result = await task.result
    if cancel == "before" {
      #expect(result.brief == "failure CancellationError()")
      #expect(log.elements == ["cancelled -"])
    } else {
      #expect(throws: TimeoutError.self) { try result.get() }
      #expect(log.elements.first == "timed out" && log.elements.count == 2)
    }
  }

  /// What an abandoned attempt comes to decides nothing: the next attempt is the run's.
  @Test(arguments: ["value", "error"])
  func anAbandonedAttemptDecidesNothing(end: String) async {
    let (clock, late, second, done) = (ManualClock(), Turnstile(), Turnstile(), Turnstile())
    let attempts = Watched(0)
    let nested = Chain { (number: Int) -> Int in
      let attempt = attempts.mutate { number in
        number += 1
        return number
      }
      guard attempt == 1 else {
        try await second.pass()
        return number
      }
      await late.passWhateverHappens()
      if end == "error" { throw Fault(1) }
      return number
    }
    .finally { _ in await done.passWhateverHappens() }
    let run = Chain { (number: Int) in number }.appending(nested).abandon(after: .seconds(5), clock: clock)
      .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
      .start(1)
    await late.visitors(atLeast: 1)
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(5))
    await second.visitors(atLeast: 1)
    late.open()
    await done.visitors(atLeast: 1)
    #expect(run.cancel(reason: "in time"))
    done.open()
    #expect(await run.outcome.cancellation?.reason == "in time")
  }

  @Test(arguments: ["nested", "zip", "race", "timeout", "recover"])
  func aCancelAfterTheLastStepsValueChangesNothing(what: String) async {
    let turnstile = Turnstile()
    let entry = Chain { (number: Int) in number }
    let slow = entry.finally { _ in await turnstile.passWhateverHappens() }
    let chain =
      switch what {
      case "nested": entry.appending(slow)
      case "zip": Chain.zip(slow, entry).then { $0 * $1 }
      case "race": Chain.race(slow, slow)
      case "timeout": entry.appending(slow).timeout(.seconds(5), clock: ManualClock())
      default: entry.appending(slow).recover { _ in 7 }
      }
    let run = chain.start(1)
    await turnstile.visitors(atLeast: 1)
    #expect(run.cancel(reason: "late") == (what == "zip"))
    turnstile.open()
    #expect(await run.outcome.brief == (what == "zip" ? "cancelled late" : "resolved 1"))
  }

  /// A step that fails while another one's chain still undoes is the one that counts.
  @Test func theFirstToFailIsTheErrorThoughOthersAreDoneSooner() async {
    let (turnstile, begun) = (Turnstile(), Once<Void>())
    let slow = failing(.nothing, turnstile)
    let other = Chain { (_: Int) -> Int in
      begun.settle(())
      _ = await Once<Void>().value()
      throw Fault(2)
    }
    let chain = Chain.zip(slow, other)
    let task = Task { try await chain.run(1) }
    await begun.valueIgnoringCancellation()
    await turnstile.visitors(atLeast: 1)
    task.cancel()
    turnstile.open()
    #expect(await task.result.brief == "failure \(Fault(1))")
  }

  /// With what a failed part completed undone before what replaces the error.
  @Test(arguments: ["timeout", "abandon", "zip"])
  func whatAFailedPartCompletedIsUndoneBeforeItIsReplaced(what: String) async throws {
    let log = Recorder<String>()
    let clock = ManualClock()
    let booked = Chain("a", undo: { _ in log.record("undo a") }) { (number: Int) in number }
    let failing = booked.then { _ -> Int in throw Fault(1) }
    let first = Chain("first", undo: { _ in log.record("undo first") }) { (number: Int) in number }
    let chain =
      switch what {
      case "timeout": failing.timeout(.seconds(1), clock: clock)
      case "abandon": failing.abandon(after: .seconds(1), clock: clock)
      default: first.appending(Chain.zip(booked, failing).then { $0 + $1 })
      }
    let recovered = chain.recover { error in
      log.record("recover \(error)")
      return 7
    }
    #expect(try await recovered.run(1) == 7)
    let undone = what == "zip" ? ["undo a", "undo a"] : ["undo a"]
    #expect(log.elements == undone + ["recover \(Fault(1))"])
    await #expect(throws: Fault(2)) { try await recovered.then { _ -> Int in throw Fault(2) }.run(1) }
    #expect(log.elements.filter { $0 == "undo first" }.count == (what == "zip" ? 1 : 0))
  }
}
