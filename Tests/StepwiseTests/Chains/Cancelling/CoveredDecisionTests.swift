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
