// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct StepAbandonTests {
  private let clock = ManualClock()
  private let discarded = Recorder<String>()
  private let comesBack = Once<Int>()

  /// Ignores cancellation, and returns when the test opens it.
  private var stubborn: Step<Int, Int> {
    Step("stubborn") { [comesBack] _ in await comesBack.valueIgnoringCancellation() }
  }

  private func abandoning(_ step: Step<Int, Int>) -> Chain<Int, Int> {
    Chain(step).abandon(after: .seconds(5), clock: clock) { [discarded] late in
      discarded.record("\(late) \(Task.isCancelled)")
    }
  }

  // G67
  @Test
  func `abandon leaves a step that ignores cancellation`() async {
    let run = abandoning(stubborn).start(1)
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(5))
    let error = await #expect(throws: TimeoutError.self) { try await run.value }
    #expect(error?.step == "stubborn")
    #expect(error?.duration == .seconds(5))
    comesBack.settle(7)
    #expect(await discarded.elements(atLeast: 1) == ["7 false"], "receives the late value, shielded from cancellation")
  }

  @Test func `A value in time is the step's and is not discarded`() async throws {
    let run = abandoning(stubborn).start(1)
    await clock.sleepers(atLeast: 1)
    comesBack.settle(7)
    #expect(try await run.value == 7)
    clock.advance(by: .seconds(50))
    #expect(discarded.elements.isEmpty)
  }

  @Test func `An error in time is thrown as it is`() async {
    let step = Step<Int, Int> { _ in throw Fault(4) }
    await #expect(throws: Fault(4)) { try await abandoning(step).run(1) }
  }

  @Test func `The abandoned step is cancelled`() async {
    let cancelled = Recorder<Bool>()
    let step = Step<Int, Int> { [clock] number in
      do {
        try await clock.sleep(for: .seconds(100))
      } catch {
        cancelled.record(Task.isCancelled)
        throw error
      }
      return number
    }
    let run = abandoning(step).start(1)
    await clock.sleepers(atLeast: 2)
    clock.advance(by: .seconds(5))
    await #expect(throws: TimeoutError.self) { try await run.value }
    #expect(await cancelled.elements(atLeast: 1) == [true])
    #expect(discarded.elements.isEmpty, "a late error is not passed to `discarding`")
  }

  @Test func `A cancel reaches the step before its time is up`() async {
    let step = Step<Int, Int> { [clock] number in
      try await clock.sleep(for: .seconds(3))
      return number
    }
    let run = abandoning(step).start(1)
    await clock.sleepers(atLeast: 2)
    #expect(run.cancel(reason: "left"))
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("not cancelled")
      return
    }
    #expect(cancellation.reason == "left")
    #expect(clock.now.offset == .zero)
  }

  @Test func `A step that ignores cancellation is abandoned at its limit`() async {
    let run = abandoning(stubborn).start(1)
    await clock.sleepers(atLeast: 1)
    #expect(run.cancel(reason: "left"))
    clock.advance(by: .seconds(5))
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("not cancelled")
      return
    }
    #expect(cancellation.underlyingError is TimeoutError)
    comesBack.settle(7)
    #expect(await discarded.elements(atLeast: 1) == ["7 false"])
  }

  // G68
  @Test func `Nothing follows the end of the events`() async {
    let run = abandoning(stubborn).start(1)
    let subscription = run.events.makeAsyncIterator()
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(5))
    _ = await run.outcome
    comesBack.settle(7)
    await discarded.elements(atLeast: 1)
    var iterator = subscription
    var lines: [String] = []
    while let event = await iterator.next(isolation: nil) { lines.append(event.line) }
    #expect(lines.last?.hasPrefix("ended failed") == true)
    #expect(lines.filter { $0.hasPrefix("ended") }.count == 1)
  }
}
