// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// `StepProgress.report` reports for the step that calls it, and for nothing else.
@Suite(.timeLimit(.minutes(5)))
struct HandlerReportTests {
  enum Form: CaseIterable, Sendable { case run, gatedRun, start }

  /// Reports from all of its handlers.
  private func makeReporting() -> Chain<Int, Int> {
    let attempts = Recorder<Int>()
    return Chain(undo: { _ in StepProgress.report(0.9) }) { (number: Int) in number }
      .then { number -> Int in
        attempts.record(number)
        throw Fault()
      }
      .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
      .onError { _ in StepProgress.report(0.9) }
      .finally { _ in StepProgress.report(0.9) }
  }

  @Test(arguments: Form.allCases)
  func `A handler of a run in a step does not report for the step`(form: Form) async {
    let inner = form == .gatedRun ? makeReporting().overlap(.serial) : makeReporting()
    let outer = Chain("outer") { (number: Int) in
      if form == .start { _ = await inner.start(number).outcome } else { _ = try? await inner.run(number) }
      return number
    }
    let events = await briefEvents(of: outer.start(1))
    // The steps of a run that the step awaits are its progress.
    #expect(events.filter { $0 != "progress outer 0.5" } == ["started", "begin outer", "end outer", "resolved 1"])
  }

  @Test func `A run that a handler starts does not report for the step`() async {
    let reporting = Chain { (number: Int) in
      StepProgress.report(0.9)
      return number
    }
    let outer = Chain("outer") { (number: Int) in try await reporting.start(number).value }
    let events = await briefEvents(of: outer.start(1))
    #expect(events == ["started", "begin outer", "end outer", "resolved 1"])
  }
}
