// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Pitfall 24: chains of any length are built, run and released in flat stack: on 512 KiB, in a debug build too.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct DepthTests {
  private static func long(_ count: Int) -> Chain<Int, Int> {
    var chain = Chain { (number: Int) in number }
    for _ in 1..<count { chain = chain.then { $0 + 1 } }
    return chain
  }

  @Test func aMillionStepsAreBuiltRunAndReleased() async throws {
    let (value, started) = try await onASmallStack {
      let chain = Self.long(1_000_000)
      return (try onThisThread { try await chain.run(0) }, try onThisThread { try await chain.start(0).value })
    }
    #expect(value == 999_999)
    #expect(started == 999_999)
  }

  @Test func aMillionStepsThatNeverRanAreReleased() async throws {
    try await onASmallStack { _ = Self.long(1_000_000) }
  }

  @Test func aMillionStepsAreReleasedOnAnyThread() async throws {
    let chain = Self.long(1_000_000)
    #expect(try await chain.run(0) == 999_999)
  }

  @Test func theErrorOfAStepGoesPastAllRecoversInFlatStack() async throws {
    try await onASmallStack {
      var chain = Chain { (number: Int) -> Int in throw Fault(number) }
      for count in 0..<100_000 { chain = chain.recover { _ in throw Fault(count) } }
      let whole = chain
      let result = try onThisThread { await resultOf { try await whole.run(0) } }
      #expect(result.brief == "failure \(Fault(99_999))")
      let recovered = try onThisThread { try await whole.recover { _ in 7 }.start(0).value }
      #expect(recovered == 7)
    }
  }

  @Test func handlersAndUndosOfAnyNumberRunInFlatStack() async throws {
    try await onASmallStack {
      let count = Watched(0)
      var chain = Chain { (number: Int) in number }
      for _ in 0..<100_000 {
        chain = chain.then(undo: { _ in count.mutate { $0 += 1 } }) { $0 }
          .onError { _ in count.mutate { $0 += 1 } }
          .finally { _ in count.mutate { $0 += 1 } }
      }
      let whole = chain.then { _ -> Int in throw Fault(1) }
      let result = try onThisThread { await resultOf { try await whole.run(0) } }
      #expect(result.brief == "failure \(Fault(1))")
      #expect(count.read { $0 } == 300_000)
    }
  }

  @Test(arguments: ["executor", "timeout", "abandon", "retry"])
  func positionalModifiersOfAnyNumberRunInFlatStack(kind: String) async throws {
    try await onASmallStack {
      let clock = ManualClock()
      var chain = Chain { (number: Int) in number }
      for _ in 0..<10_000 {
        switch kind {
        case "executor": chain = chain.executor(globalConcurrentExecutor)
        case "timeout": chain = chain.timeout(.seconds(1), clock: clock)
        case "abandon": chain = chain.abandon(after: .seconds(1), clock: clock)
        default: chain = chain.retry(RetryPolicy(maxAttempts: 2, backoff: .none))
        }
      }
      let whole = chain.then { $0 + 1 }
      if kind == "executor" { return }
      let value = try onThisThread { try await whole.run(1) }
      let started = try onThisThread { try await whole.start(1).value }
      #expect(value == 2 && started == 2)
    }
  }

  /// Fewer, as the runtime takes time quadratic in the preferences that are inside one another.
  @Test func manyExecutorsRun() async throws {
    var chain = Chain { (number: Int) in number }
    for _ in 0..<2_000 { chain = chain.executor(globalConcurrentExecutor) }
    #expect(try await chain.run(1) == 1)
    #expect(try await chain.start(1).value == 1)
  }

  /// Chains that are steps of chains release each other: there the stack bounds the depth.
  @Test func aHundredChainsInsideOneAnotherRunOnASmallStack() async throws {
    let depth = 100
    try await onASmallStack {
      var chain = Chain { (number: Int) in number }
      for _ in 0..<depth { chain = Chain { (number: Int) in number + 1 }.then(chain) }
      let whole = chain
      let value = try onThisThread { try await whole.run(0) }
      let started = try onThisThread { try await whole.start(0).value }
      #expect(value == depth && started == depth)
    }
  }
}
