// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// An observer receives what happens in a run, in order, whatever kind of run it is.
@Suite(.timeLimit(.minutes(5)))
struct RunObserverTests {
  private let log = ObserverLog()

  private var chain: Chain<Int, Int> {
    Chain("double") { (number: Int) in number * 2 }.then("add") { $0 + 1 }.observed(by: log)
  }

  private let expected = [
    "run 1 double → add started", "1 double started", "1 double finished", "1 add started", "1 add finished",
    "run 1 ended succeeded with Int",
  ]

  @Test func `A plain run notifies its observer in order`() async throws {
    #expect(try await chain.run(3) == 7)
    #expect(log.lines == expected)
  }

  @Test
  func `A started run notifies its observer before the waiting task resumes`() async throws {
    let run = chain.start(3)
    #expect(try await run.value == 7)
    #expect(log.lines == expected)
  }

  @Test func `A run whose handle is released is observed to its end`() async {
    let turnstile = Turnstile()
    var run: Run<Int>? = Chain("wait") { (number: Int) in
      await turnstile.passWhateverHappens()
      return number
    }
    .observed(by: log).start(1)
    _ = await log.lines(atLeast: 2)
    withExtendedLifetime(run) {}
    run = nil
    turnstile.open()
    #expect(await log.lines(atLeast: 4).last == "run 1 ended succeeded with Int")
  }

  @Test func `A chain derived later is observed and the original is not`() async throws {
    let original = Chain("one") { (number: Int) in number }
    let derived = original.observed(by: log).then("two") { $0 }
    _ = try await original.run(1)
    #expect(log.lines.isEmpty)
    _ = try await derived.run(1)
    #expect(log.lines.first == "run 1 one → two started")
    #expect(log.lines.contains("1 two finished"))
  }

  @Test func `A name replaces the names of the steps`() async throws {
    _ = try await chain.named("sum").run(1)
    #expect(log.lines.first == "run 1 sum started")
    #expect(log.lines.count == 6)
  }

  @Test func `A failed run has the error of its step`() async {
    let chain = Chain("fail") { () -> Int in throw Fault(1) }.then("never") { $0 }.observed(by: log)
    await #expect(throws: Fault(1)) { try await chain.run() }
    #expect(
      log.lines == [
        "run 1 fail → never started", "1 fail started", "1 fail finished: Fault(number: 1)",
        "run 1 ended failed: Fault(number: 1)",
      ]
    )
  }

  @Test
  func `A retried chain reports each failed attempt and counts the starts`() async throws {
    let tally = Tally()
    let chain = Chain("undone", undo: { _ in }) { 1 }
      .then("flaky") { number in if tally.increment() < 3 { throw Fault(tally.total) } else { number } }
      .retry(RetryPolicy(maxAttempts: 3, backoff: .none)).named("r").observed(by: log)
    _ = try await chain.run()
    #expect(
      log.lines == [
        "run 1 r started", "1 undone started", "1 undone finished", "1 flaky started",
        "1 flaky finished: Fault(number: 1)", "1 undone undone", "1 flaky attempt 1 failed: Fault(number: 1)",
        "1 undone started again, 2", "1 undone finished", "1 flaky started again, 2",
        "1 flaky finished: Fault(number: 2)", "1 undone undone", "1 flaky attempt 2 failed: Fault(number: 2)",
        "1 undone started again, 3", "1 undone finished", "1 flaky started again, 3", "1 flaky finished",
        "run 1 ended succeeded with Int",
      ]
    )
  }

  @Test func `A retried step reports each failed attempt`() async throws {
    let tally = Tally()
    let step = Step("flaky") { (_: Void) in if tally.increment() < 2 { throw Fault(1) } }
      .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
    _ = try await Chain(step).observed(by: log).run()
    #expect(
      log.lines == [
        "run 1 flaky started", "1 flaky started", "1 flaky attempt 1 failed: Fault(number: 1)", "1 flaky finished",
        "run 1 ended succeeded",
      ]
    )
  }

  @Test func `The undo of a failed run is reported before its end`() async {
    let chain = Chain("reserve", undo: { (_: Int) in throw Fault(2) }) { 1 }
      .then("pay") { (_: Int) -> Int in throw Fault(1) }.observed(by: log)
    _ = try? await chain.run()
    #expect(log.lines.suffix(2) == ["1 reserve undone: Fault(number: 2)", "run 1 ended failed: Fault(number: 1)"])
  }

  @Test func `A cancelled run ends with its reason`() async {
    let turnstile = Turnstile()
    let run = Chain("wait") { try await turnstile.pass() }.observed(by: log).start()
    _ = await log.lines(atLeast: 2)
    run.cancel(reason: "left the screen")
    _ = await run.outcome
    #expect(
      log.lines == [
        "run 1 wait started", "1 wait started", "1 wait finished: CancellationError()",
        "run 1 ended cancelled: left the screen",
      ]
    )
  }

  @Test
  func `An observer sees a run that is cancelled before it starts, once`() async {
    let token = CancellationToken()
    token.cancel(reason: "late")
    let run = Chain("never") {}.observed(by: log).start(cancelledBy: token)
    _ = await run.outcome
    #expect(log.lines == ["run 1 never started", "run 1 ended cancelled: late"])
  }

  @Test
  func `An abandoned step finishes once, and its nested run ends later`() async throws {
    let turnstile = Turnstile()
    let clock = ManualClock()
    let inner = Chain("slow") { await turnstile.passWhateverHappens() }.named("inner")
    let chain = Chain("first") {}.appending(inner).abandon(after: .seconds(1), clock: clock).recover { _ in }
    let run = chain.named("outer").observed(by: log).start()
    _ = await log.lines(atLeast: 5)
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(1))
    _ = try await run.value
    let end = log.lines
    #expect(
      end == [
        "run 1 outer started", "1 first started", "1 first finished", "run 2 inner started in 1", "2 slow started",
        "2 slow finished: \(TimeoutError(step: "slow", duration: .seconds(1)))", "run 1 ended succeeded",
      ]
    )
    turnstile.open()
    #expect(await log.lines(atLeast: 8).suffix(1).first?.hasPrefix("run 2 ended") ?? false)
    #expect(log.lines.count == 8)
  }
}
