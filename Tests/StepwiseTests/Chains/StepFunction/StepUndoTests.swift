// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// When the undos of steps run, and when they are left out.
@Suite(.timeLimit(.minutes(5)))
struct StepUndoTests {
  private let log = Recorder<String>()

  /// A step that can be undone, and says so.
  private nonisolated(nonsending) func done(_ name: String) async throws {
    try await step(name) {
      name
    } undo: { [log] in
      log.record("undo \($0)")
    }
  }

  private let twice = RetryPolicy(maxAttempts: 2, backoff: .none)

  // G42
  @Test(arguments: [false, true])
  func `After a later failure, all undos run, newest first`(started: Bool) async throws {
    let chain = Chain("plan", undo: { [log] in log.record("undo plan") }) { () in
      try await done("a")
      try await step("b") {
        try await done("c")
      } undo: { [log] in
        log.record("undo b")
      }
    }
    .then {
      try await done("d")
      throw Fault(1)
    }
    .onError { [log] in log.record("\($0)") }
    _ = await resultOf { try await started ? chain.start().value : chain.run() }
    #expect(log.elements == ["undo d", "undo plan", "undo b", "undo c", "undo a", "\(Fault(1))"])
  }

  // G42
  @Test func `Undos of concurrent steps run newest first by completion`() async throws {
    let chain = Chain { () in
      let gate = Turnstile()
      async let slow: Void = step("slow") {
        await gate.passWhateverHappens()
      } undo: { [log] in
        log.record("undo slow")
      }
      try await done("fast")
      gate.open()
      try await slow
      try await done("last")
      throw Fault()
    }
    _ = await resultOf { try await chain.run() }
    #expect(log.elements == ["undo last", "undo slow", "undo fast"])
  }

  // G42
  @Test
  func `Neither a caught error nor a value undoes anything`() async throws {
    let chain = Chain { () in
      try? await step("plain") {
        try await done("a")
        throw Fault()
      }
      #expect(log.elements.isEmpty)
    }
    try await chain.run()
    try await chain.start().value
    #expect(log.elements.isEmpty)
    let recovered = Chain { () in
      try await done("a")
      throw Fault()
    }
    .recover { _ in }
    try await recovered.run()
    #expect(log.elements.isEmpty)
  }

  // G42
  @Test func `A cancelled run undoes its steps`() async throws {
    for started in [false, true] {
      let gate = Turnstile()
      let chain = Chain { () in
        try await done("a")
        try await step("b") { try await gate.pass() }
      }
      .finally { [log] in log.record($0.brief) }
      let run = started ? chain.start() : nil
      let task = Task { if let run { try await run.value } else { try await chain.run() } }
      await gate.visitors(atLeast: 1)
      if let run { run.cancel() } else { task.cancel() }
      _ = await task.result
      _ = await run?.outcome
    }
    #expect(log.elements == ["undo a", "cancelled -", "undo a", "cancelled -"])
  }

  // G42
  @Test func `An undo that throws is reported as an undo error`() async throws {
    let chain = Chain("plan") { () in
      try await step("a") {
        1
      } undo: { _ in
        throw Fault(2)
      }
      throw Fault(1)
    }
    .onError { [log] in log.record("\($0)") }
    let run = chain.start()
    _ = await run.outcome
    #expect(log.elements == ["\(Fault(1))", "a could not be undone: \(Fault(2))"])
    #expect(run.undoErrors.map(\.step) == ["a"])
  }

  // G43
  @Test(arguments: [nil, Duration.seconds(60)])
  func `Every failed attempt undoes what it completed, including the last`(limit: Duration?) async throws {
    let chain = Chain { () in
      try await done("before")
      let attempts = Tally()
      do {
        try await step("scope", retry: twice, timeout: limit) {
          let attempt = attempts.increment()
          log.record("attempt \(attempt)")
          try await done("a\(attempt)")
          try await step("plain") { try await done("b\(attempt)") }
          throw Fault(attempt)
        }
      } catch {
        log.record("caught \(error)")
      }
      try await done("after")
      throw Fault(9)
    }
    _ = await resultOf { try await chain.run() }
    #expect(
      log.elements == [
        "attempt 1", "undo b1", "undo a1", "attempt 2", "undo b2", "undo a2", "caught \(Fault(2))", "undo after",
        "undo before",
      ]
    )
  }

  // G43
  @Test
  func `Steps of the last attempt are undone before the retried step`() async throws {
    let chain = Chain { () in
      let attempts = Tally()
      try await step("scope", retry: twice) {
        let attempt = attempts.increment()
        try await done("a\(attempt)")
        if attempt == 1 { throw Fault() }
        try await step("nested", timeout: .seconds(60)) { try await done("b\(attempt)") }
      } undo: { [log] in
        log.record("undo scope")
      }
      log.record("done")
      throw Fault()
    }
    _ = await resultOf { try await chain.run() }
    #expect(log.elements == ["undo a1", "done", "undo scope", "undo b2", "undo a2"])
  }

  // G43
  @Test func `A time limit undoes what its step completed`() async throws {
    let clock = ManualClock()
    let chain = Chain { () in
      try await done("before")
      let result = await resultOf {
        try await step("scope", timeout: .seconds(1), clock: clock) {
          try await done("a")
          // Cancelled by the limit around it, so that it hands its undos outward.
          try await step("inner", retry: twice) {
            try await done("b")
            try await clock.sleep(for: .seconds(60))
          }
        }
      }
      log.record(result.brief)
    }
    let task = Task { try await chain.run() }
    await clock.sleepers(atLeast: 2)
    clock.advance(by: .seconds(1))
    try await task.value
    #expect(log.elements == ["undo b", "undo a", "failure scope did not end within 1 second"])
  }

  // G43
  @Test func `A cancelled attempt passes its undos to the run`() async throws {
    let gate = Turnstile()
    let chain = Chain { () in
      try await done("before")
      do {
        try await step("scope", retry: twice, timeout: .seconds(60)) {
          try await done("a")
          try await gate.pass()
        }
      } catch {
        log.record("caught")
        throw error
      }
    }
    let run = chain.start()
    await gate.visitors(atLeast: 1)
    run.cancel()
    _ = await run.outcome
    #expect(log.elements == ["caught", "undo a", "undo before"])
  }

  // G43
  @Test func `Cancellation ends the delay between attempts`() async throws {
    let clock = ManualClock()
    let policy = RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(60)))
    let chain = Chain { () in try await step("a", retry: policy, clock: clock) { throw Fault(1) } }
    let task = Task { try await chain.run() }
    await clock.sleepers(atLeast: 1)
    chain.cancelRuns(reason: nil)
    await #expect(throws: CancellationError.self) { try await task.value }
    let outside = Task { try await step("a", retry: policy, clock: clock) { throw Fault(1) } }
    await clock.sleepers(atLeast: 1)
    outside.cancel()
    await #expect(throws: Fault(1)) { try await outside.value }
  }

  // G36
  @Test func `A retry of the chain undoes the steps of a failed attempt`() async throws {
    let attempts = Tally()
    let chain = Chain { () in
      let attempt = attempts.increment()
      try await done("a\(attempt)")
      if attempt == 1 { throw Fault() }
    }
    .retry(twice)
    try await chain.run()
    #expect(log.elements == ["undo a1"])
  }

  // G48
  @Test func `The siblings of a failed branch undo their steps`() async throws {
    let gate = Turnstile()
    let left = Chain { () in
      try await done("a")
      gate.open()
    }
    let right = Chain { () -> Void in
      try await gate.pass()
      throw Fault()
    }
    let chain = Chain.zip(left, right)
    _ = await resultOf { try await chain.run() }
    #expect(log.elements == ["undo a"])
    let nested = Chain { () in try await done("outer") }.appending(left).then { throw Fault() }
    _ = await resultOf { try await nested.run() }
    #expect(log.elements == ["undo a", "undo a", "undo outer"])
  }
}
