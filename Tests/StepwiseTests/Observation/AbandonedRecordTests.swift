// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// What an abandoned attempt does late does not appear in the record of its run.
@Suite(.timeLimit(.minutes(5)))
struct AbandonedRecordTests {
  private let clock = ManualClock()
  private let log = Recorder<String>()
  private let late = Turnstile()
  private let second = Turnstile()

  enum Form: CaseIterable, Sendable { case step, undoable, nested, zipped, progression }

  private struct Stage: Progression {
    var isLast = false
    func next() async throws -> Stage { Stage(isLast: true) }
    var result: Int? { isLast ? 1 : nil }
  }

  /// A step that ignores cancellation in its first attempt, and reports late.
  private func makeBody() -> @Sendable (Int) async throws -> Int {
    let attempts = Recorder<Int>()
    return { [log, late, second] number in
      attempts.record(number)
      if attempts.elements.count == 1 {
        log.record("first")
        await late.passWhateverHappens()
        StepProgress.report(0.8)
        log.record("late")
      } else {
        log.record("second")
        try await second.pass()
      }
      return number
    }
  }

  private func makeChain(_ form: Form) -> Chain<Int, Int> {
    let body = makeBody()
    switch form {
    case .step: return Chain("work", body)
    case .undoable: return Chain("work", undo: { _ in }, body)
    case .nested: return Chain { (number: Int) in number }.appending(Chain("work", body))
    case .zipped: return Chain<Int, (Int, Int)>.zip(Chain("work", body), Chain { $0 }).then { $0.0 }
    case .progression:
      return Chain { (number: Int) in number }.appending(running: { number in
        _ = try await body(number)
        return Stage()
      })
    }
  }

  @Test(arguments: Form.allCases)
  func `The next attempt has its own record`(form: Form) async throws {
    let policy = RetryPolicy(maxAttempts: 2, backoff: .none)
    let chain = makeChain(form).abandon(after: .seconds(5), clock: clock).retry(policy)
    let run = chain.start(1)
    await log.wait(for: "first")
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(5))
    await log.wait(for: "second")
    late.open()
    await log.wait(for: "late")
    // The late step ends in its own time: what it would have written is written by then in most runs of this test.
    for _ in 0..<100 { await Task.yield() }
    for await progress in run.progress {
      #expect(progress.fractionCompleted < 1)
      break
    }
    second.open()
    let events = await briefEvents(of: run)
    #expect(!events.contains { $0.contains("0.8") || $0.contains("undone") }, "\(events)")
    #expect(try await run.value == 1)
  }

  // G68
  @Test func `An abandoned step ends when it is abandoned`() async throws {
    let chain = makeChain(.step).abandon(after: .seconds(5), clock: clock).recover { _ in 2 }
      .then { [second] number in
        try await second.pass()
        return number
      }
    let run = chain.start(1)
    await log.wait(for: "first")
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(5))
    await second.visitors(atLeast: 1)
    late.open()
    await log.wait(for: "late")
    for _ in 0..<100 { await Task.yield() }
    second.open()
    let events = await briefEvents(of: run)
    #expect(events == ["started", "begin work", "abandoned work", "begin step 1", "end step 1", "resolved 2"])
    for await progress in run.progress { #expect(progress.fractionCompleted == 1) }
  }
}
