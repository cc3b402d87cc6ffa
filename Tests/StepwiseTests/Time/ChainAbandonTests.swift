// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct ChainAbandonTests {
  private let clock = ManualClock()
  private let log = Recorder<String>()
  private let comesBack = Once<Void>()

  private func undo(_ name: String, throwing error: Fault? = nil) -> @Sendable (Int) async throws -> Void {
    { [log] _ in
      log.record("undo \(name) \(Task.isCancelled)")
      if let error { throw error }
    }
  }

  /// A step that is done, one that ignores cancellation and can be undone, and one that is never reached.
  private func chain(undoThrows error: Fault? = nil, isLimited: Bool = false) -> Chain<Int, Int> {
    let steps = Chain { (number: Int) in number }
      .then("done", undo: undo("done")) { $0 }
      .then("late", undo: undo("late", throwing: error)) { [log, comesBack] number in
        log.record("late began")
        await comesBack.valueIgnoringCancellation()
        return number
      }
      .then("never") { [log] number in
        log.record("never")
        return number
      }
    return (isLimited ? steps.timeout(.seconds(60), clock: clock) : steps)
      .abandon(after: .seconds(5), clock: clock) { [log] _ in log.record("discarded") }
      .onError { [log] in log.record($0 is TimeoutError ? "timed out" : "\($0)") }
      .finally { [log] _ in log.record("finally") }
  }

  private func abandoned(_ chain: Chain<Int, Int>, isLimited: Bool = false) async -> Run<Int> {
    let run = chain.start(1)
    await clock.sleepers(atLeast: isLimited ? 2 : 1)
    await log.wait(for: "late began")
    clock.advance(by: .seconds(5))
    return run
  }

  @Test(arguments: [false, true]) func `Completed steps are undone before the timeout throws`(isLimited: Bool) async {
    let run = await abandoned(chain(isLimited: isLimited), isLimited: isLimited)
    let error = await #expect(throws: TimeoutError.self) { try await run.value }
    #expect(error?.step == "late")
    #expect(log.elements == ["late began", "undo done false", "timed out", "finally"])
    comesBack.settle(())
  }

  @Test(arguments: [false, true]) func `An abandoned step that can be undone is undone late`(isLimited: Bool) async {
    let run = await abandoned(chain(isLimited: isLimited), isLimited: isLimited)
    _ = await run.outcome
    comesBack.settle(())
    await log.wait(for: "undo late false")
    #expect(!log.elements.contains("never"), "no further step follows it")
    #expect(log.elements.filter { $0.hasPrefix("undo") } == ["undo done false", "undo late false"])
  }

  /// The handlers have been called by then.
  @Test func `An error of a late undo is listed`() async {
    let run = await abandoned(chain(undoThrows: Fault(8)))
    _ = await run.outcome
    comesBack.settle(())
    await log.wait(for: "undo late false")
    while run.undoErrors.isEmpty { await Task.yield() }
    #expect(run.undoErrors.map { $0.underlyingError as? Fault } == [Fault(8)])
    #expect(log.elements.last == "undo late false")
  }

  /// Its outer run has completed by then.
  @Test(arguments: [false, true]) func `An abandoned chain knows why its outer run was cancelled`(byToken: Bool) async {
    let inner = Chain { [log, comesBack] (number: Int) in
      log.record("late began")
      await comesBack.valueIgnoringCancellation()
      return number
    }
    .then { $0 }
    .finally { [log] state in log.record("late \(state.summary)") }
    let outer = Chain { (number: Int) in number }.appending(inner).abandon(after: .seconds(5), clock: clock)
      .finally { [log] state in log.record("outer \(state.summary)") }
    let run = Task { await resultOf { try await outer.run(1) } }
    await clock.sleepers(atLeast: 1)
    await log.wait(for: "late began")
    if byToken { outer.cancellationToken.cancel(reason: "stop") } else { outer.cancelRuns(reason: "stop") }
    clock.advance(by: .seconds(5))
    _ = await run.value
    comesBack.settle(())
    await log.elements(atLeast: 3)
    #expect(log.elements == ["late began", "outer cancelled stop", "late cancelled stop"])
  }

  // G67
  @Test func `A late value is discarded`() async {
    let chain = Chain("stubborn") { [log, comesBack] (number: Int) in
      log.record("late began")
      await comesBack.valueIgnoringCancellation()
      return number
    }
    .abandon(after: .seconds(5), clock: clock) { [log] in log.record("discarded \($0) \(Task.isCancelled)") }
    let run = await abandoned(chain)
    await #expect(throws: TimeoutError.self) { try await run.value }
    comesBack.settle(())
    await log.wait(for: "discarded 1 false")
  }

  @Test func `A chain that ends in time is undone by a later failure`() async {
    comesBack.settle(())
    let chain = chain().then { _ -> Int in throw Fault(1) }
    await #expect(throws: Fault(1)) { try await chain.run(1) }
    #expect(
      log.elements == ["late began", "never", "undo late false", "undo done false", "Fault(number: 1)", "finally"]
    )
  }

  @Test func `A late undo adds nothing after the end of the events`() async {
    let chain = chain()
    let run = chain.start(1)
    var iterator = run.events.makeAsyncIterator()
    await clock.sleepers(atLeast: 1)
    await log.wait(for: "late began")
    clock.advance(by: .seconds(5))
    _ = await run.outcome
    comesBack.settle(())
    await log.wait(for: "undo late false")
    var lines: [String] = []
    while let event = await iterator.next(isolation: nil) { lines.append(event.line) }
    #expect(lines.last?.hasPrefix("ended failed") == true, "\(lines)")
    #expect(lines.filter { $0.hasPrefix("ended") }.count == 1)
  }

  /// The part has failed and is undoing when its time is up: a failed undo must not be lost.
  @Test func `An undo that runs at the time limit is not lost`() throws {
    let (clock, log) = (clock, log)
    let chain = Chain { (number: Int) in number }
      .then(
        "slowly",
        undo: { _ in
          try? await clock.sleep(for: .seconds(50))
          throw Fault(6)
        }
      ) { $0 }
      .then { _ -> Int in throw Fault(1) }
      .abandon(after: .seconds(5), clock: clock)
      .onError { log.record($0 is UndoError ? "told" : "primary") }
    try SeededExecutor(seed: 1, clock: clock).run {
      _ = await chain.start(1).outcome
      try await clock.sleep(for: .seconds(100))
    }
    #expect(log.elements == ["primary", "told"])
  }
}
