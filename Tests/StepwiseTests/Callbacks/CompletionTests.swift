// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// `start(input) { result in }`, the door from chains to code that works with callbacks.
@Suite(.timeLimit(.minutes(5)))
struct CompletionTests {
  private let log = Recorder<String>()

  private func note(_ result: Result<Int, any Error>) {
    switch result {
    case .success(let value): log.record("success \(value)")
    case .failure(let error): log.record("failure \(error)")
    }
  }

  // G21
  /// Once, whatever happened, after the `finally` handlers.
  @Test(arguments: [1, -1])
  func `The completion is called once after finally`(number: Int) async {
    let chain = Chain { (number: Int) in if number < 0 { throw Fault(number) } else { number } }
      .onError { [log] _ in log.record("onError") }
      .finally { [log] _ in log.record("finally") }
    let run = chain.start(number) { (result: Result<Int, any Error>) in note(result) }
    _ = await run.outcome
    let expected =
      number < 0 ? ["onError", "finally", "failure Fault(number: -1)"] : ["finally", "success 1"]
    #expect(await log.elements(atLeast: expected.count) == expected)
    await chain.waitUntilIdle()
    #expect(log.elements == expected)
  }

  @Test func `The completion is called once for a cancelled run, too`() async {
    let entered = Recorder<Int>()
    let chain = Chain { (number: Int) in
      entered.record(number)
      try await ManualClock().sleep(for: .seconds(1))
      return number
    }
    .finally { [log] state in log.record("finally \(state.summary)") }
    let run = chain.start(1) { result in
      #expect(!Task.isCancelled)
      note(result)
    }
    await entered.elements(atLeast: 1)
    run.cancel(reason: "left")
    #expect(await log.elements(atLeast: 2) == ["finally cancelled left", "failure CancellationError()"])
  }

  @Test func `The completion of a refused run is called, too`() async throws {
    let gate = Recorder<Int>()
    let chain = Chain { (number: Int) in
      await gate.elements(atLeast: 1)
      return number
    }
    .overlap(.dropNew)
    let first = chain.start(1)
    chain.start(2) { result in note(result) }
    #expect(await log.elements(atLeast: 1) == ["failure CancellationError()"])
    gate.record(1)
    #expect(try await first.value == 1)
  }

  /// The handle need not be kept.
  @Test func `Releasing the handle cancels nothing`() async {
    Chain { (number: Int) in number + 1 }.start(1) { result in note(result) }
    Chain { 7 }.start { result in note(result) }
    #expect(Set(await log.elements(atLeast: 2)) == ["success 2", "success 7"])
  }

  @Test func `The completion may await and start again`() async {
    let chain = Chain { (number: Int) in number + 1 }
    chain.start(1) { result in
      await Task.yield()
      guard case .success(let value) = result else { return }
      chain.start(value) { result in note(result) }
    }
    #expect(await log.elements(atLeast: 1) == ["success 3"])
  }

  @Test func `A run may be started from a foreign thread`() async {
    await onForeignThread { [log] in
      _ = Chain { (number: Int) in number + 1 }.start(1) { result in log.record("\(result)") }
    }
    #expect(await log.elements(atLeast: 1) == ["success(2)"])
  }

  @Test func `Nothing is retained after the completion`() async {
    let tracker = LifetimeTracker()
    for number in 0..<50 {
      Chain { [tracked = tracker.track()] (number: Int) in withExtendedLifetime(tracked) { number } }
        .start(number) { [tracked = tracker.track()] result in withExtendedLifetime(tracked) { note(result) } }
    }
    await log.elements(atLeast: 50)
    await tracker.allReleased()
    #expect(tracker.made == 100)
  }
}
