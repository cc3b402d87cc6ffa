// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// `zip` and `race` are decided by the last step of one branch, not by its handlers.
@Suite(.timeLimit(.minutes(5)))
struct DecidedForkTests {
  enum Cancel: CaseIterable, Sendable { case never, handle, chain }

  private let log = Recorder<String>()

  /// Two steps of five seconds each.
  private func makeSlow(_ clock: ManualClock, _ overlap: Overlap) -> Chain<Int, String> {
    let log = log
    return Chain("b1") { (number: Int) in
      try await clock.sleep(for: .seconds(5))
      return number
    }
    .then("b2", undo: { _ in log.record("b2 undone") }) { (_: Int) in
      log.record("b2")
      try await clock.sleep(for: .seconds(5))
      return "B"
    }
    .overlap(overlap)
  }

  private func run(_ chain: Chain<Int, String>, _ cancel: Cancel, _ clock: ManualClock) async -> String {
    let run = chain.start(1)
    if cancel != .never {
      try? await clock.sleep(for: .seconds(2))
      switch cancel {
      case .never: break
      case .handle: run.cancel(reason: "user")
      case .chain: chain.cancelRuns(reason: "user")
      }
    }
    return await run.outcome.brief
  }

  // G26
  @Test(arguments: Cancel.allCases, [Overlap.concurrent, .serial])
  func `The first branch of a race with a value wins`(cancel: Cancel, overlap: Overlap) async throws {
    let log = log
    try await simulate(seed: 1) { clock in
      let fast = Chain<Int, String>("a") { _ in
        try await clock.sleep(for: .seconds(1))
        return "A"
      }
      .finally { _ in try? await clock.sleep(for: .seconds(60)) }
      let outcome = await run(Chain.race(fast, makeSlow(clock, overlap)), cancel, clock)
      log.record("\(outcome) at \(clock.now.offset)")
    }
    #expect(log.elements == ["resolved A at 61.0 seconds"])
  }

  // G26
  @Test(arguments: Cancel.allCases, [Overlap.concurrent, .serial])
  func `The first branch of a zip to fail ends it`(cancel: Cancel, overlap: Overlap) async throws {
    let log = log
    try await simulate(seed: 1) { clock in
      let failing = Chain<Int, String>("a") { _ in
        try await clock.sleep(for: .seconds(1))
        throw Fault(1)
      }
      .finally { _ in try? await clock.sleep(for: .seconds(60)) }
      let both = Chain.zip(failing, makeSlow(clock, overlap)).then { first, second in first + second }
      let outcome = await run(both, cancel, clock)
      log.record("\(outcome) at \(clock.now.offset)")
    }
    let isCancelled = [.handle, .chain].contains(cancel)
    #expect(log.elements == ["\(isCancelled ? "cancelled user" : "failed") \(Fault(1)) at 61.0 seconds"])
  }

  @Test(arguments: [false, true])
  func `A branch is interrupted before another that failed is undone`(isInner: Bool) async throws {
    let log = log
    try await simulate(seed: 1) { clock in
      let undo: @Sendable (Int) async -> Void = { _ in try? await clock.sleep(for: .seconds(60)) }
      let first =
        isInner
        ? Chain("a") { (number: Int) in
          try await step("inner") {
            number
          } undo: { result in
            await undo(result)
          }
        }
        : Chain { (number: Int) in number }.then("a", undo: undo) { $0 }
      let failing = first.then { (_: Int) async throws -> Int in
        try await clock.sleep(for: .seconds(1))
        throw Fault(1)
      }
      let waiting = Chain("b") { (_: Int) async throws -> Int in
        defer { log.record("interrupted at \(clock.now.offset)") }
        try await clock.sleep(for: .seconds(1_000))
        return 2
      }
      await #expect(throws: Fault(1)) { try await Chain.zip(failing, waiting).run(1) }
      log.record("ended at \(clock.now.offset)")
    }
    #expect(log.elements == ["interrupted at 1.0 seconds", "ended at 61.0 seconds"])
  }
}
