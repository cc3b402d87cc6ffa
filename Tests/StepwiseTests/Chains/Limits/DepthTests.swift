// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Chains of any length are built, run and released in flat stack: on 512 KiB, in a debug build too.
///
/// A million steps in an optimized build.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct DepthTests {
  private static func long(_ count: Int) -> Chain<Int, Int> {
    var chain = Chain { (number: Int) in number }
    for _ in 1..<count { chain = chain.then { $0 + 1 } }
    return chain
  }

  // G16
  @Test func `A million steps are built, run and released`() async throws {
    let (value, started) = try await onASmallStack {
      let chain = Self.long(scaled(1_000_000))
      return (try onThisThread { try await chain.run(0) }, try onThisThread { try await chain.start(0).value })
    }
    #expect(value == scaled(1_000_000) - 1)
    #expect(started == value)
  }

  @Test func `A million steps that never ran are released`() async throws {
    try await onASmallStack { _ = Self.long(scaled(1_000_000)) }
  }

  // G16
  @Test func `A million steps are released on any thread`() async throws {
    let chain = Self.long(scaled(1_000_000))
    #expect(try await chain.run(0) == scaled(1_000_000) - 1)
  }

  @Test func `An error passes any number of recovers without recursion`() async throws {
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

  @Test func `Any number of handlers and undos run without recursion`() async throws {
    try await onASmallStack {
      let count = Watched(0)
      var chain = Chain { (number: Int) in number }
      for _ in 0..<scaled(100_000) {
        chain = chain.then(undo: { _ in count.mutate { $0 += 1 } }) { $0 }
          .onError { _ in count.mutate { $0 += 1 } }
          .finally { _ in count.mutate { $0 += 1 } }
      }
      let whole = chain.then { _ -> Int in throw Fault(1) }
      let result = try onThisThread { await resultOf { try await whole.run(0) } }
      #expect(result.brief == "failure \(Fault(1))")
      #expect(count.read { $0 } == 3 * scaled(100_000))
    }
  }

  @Test(arguments: ["executor", "timeout", "abandon", "retry"])
  func `Any number of positional modifiers run without recursion`(kind: String) async throws {
    try await onASmallStack {
      let clock = ManualClock()
      var chain = Chain { (number: Int) in number }
      for _ in 0..<scaled(10_000) {
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
  @Test func `Many executors run`() async throws {
    var chain = Chain { (number: Int) in number }
    for _ in 0..<2_000 { chain = chain.executor(globalConcurrentExecutor) }
    #expect(try await chain.run(1) == 1)
    #expect(try await chain.start(1).value == 1)
  }

  // MARK: - Chains inside one another

  /// Chains that are each the last step of the next, named, with an undo each.
  private static func nested(_ depth: Int) -> Chain<Int, Int> {
    var chain = Chain("innermost") { (number: Int) in number }
    for level in 1..<depth {
      chain = Chain("level \(level)", undo: { _ in }) { (number: Int) in number + 1 }.appending(chain)
    }
    return chain
  }

  // G17
  @Test
  func `Nested chains are built and released with constant stack depth`() async throws {
    let tracker = LifetimeTracker()
    try await onASmallStack {
      var chain = Chain { [object = tracker.track()] (number: Int) in withExtendedLifetime(object) { number } }
      for _ in 0..<100_000 { chain = Chain { (number: Int) in number }.appending(chain) }
      withExtendedLifetime(chain) {}
    }
    #expect(tracker.made == 1 && tracker.alive == 0)
  }

  /// With the branches of `zip` and `race`, and steps that follow the chain.
  @Test func `Deeply nested branches are released without recursion`() async throws {
    let tracker = LifetimeTracker()
    try await onASmallStack {
      var chain = Chain { [object = tracker.track()] (number: Int) in withExtendedLifetime(object) { number } }
      let other = Chain { (number: Int) in number }
      for level in 0..<30_000 {
        switch level % 3 {
        case 0: chain = Chain.race(other, chain)
        case 1: chain = Chain.zip(chain, other).then { (values: (Int, Int)) in values.0 }
        default: chain = other.appending(chain).recover { _ in 0 }.timeout(.seconds(1), clock: ManualClock())
        }
      }
      withExtendedLifetime((chain, other)) {}
    }
    #expect(tracker.made == 1 && tracker.alive == 0)
  }

  // G17
  @Test(arguments: [false, true]) func `Deeply nested chains run without recursion`(started: Bool) async throws {
    let depth = 2_000
    try await onASmallStack {
      let whole = Self.nested(depth)
      let value = try onThisThread { started ? try await whole.start(0).value : try await whole.run(0) }
      #expect(value == depth - 1)
    }
  }

  // G18
  /// The time grows with the depth, not with its square.
  @Test func `A chain that starts and awaits itself runs without recursion`() async throws {
    let depth = 10_000
    try await onASmallStack {
      let own = Watched<Chain<Int, Int>?>(nil)
      let chain = Chain("down") { (number: Int) -> Int in
        guard number > 0, let own = own.read({ $0 }) else { return 0 }
        return try await own.start(number - 1).value + 1
      }
      own.mutate { $0 = chain }
      defer { own.mutate { $0 = nil } }
      let value = try onThisThread { try await chain.start(depth).value }
      #expect(value == depth)
    }
  }

  /// Each step has the name that it was given, wherever it is.
  @Test func `Steps of deeply nested chains keep their names`() async throws {
    let run = Self.nested(500).start(0)
    _ = try await run.value
    var begun: [String] = []
    for await event in run.events {
      if case .stepStarted(let step) = event { begun.append("\(step.index) \(step)") }
    }
    #expect(begun == (1..<500).map { "\(499 - $0) level \($0)" }.reversed() + ["499 innermost"])
  }

  @Test func `The step after deeply nested chains is named, too`() async throws {
    let inner = Chain("a") { (number: Int) in number }.then("b") { $0 }.timeout(.seconds(1), clock: ManualClock())
    let zipped = Chain.zip(inner, inner.then { $0 }).then("sum") { (values: (Int, Int)) in values.0 + values.1 }
    let run = inner.appending(zipped).recover { _ in 0 }.then { $0 }.then("last") { $0 }.start(1)
    _ = try await run.value
    var names: [Int: String] = [:]
    for await event in run.events {
      if case .stepFinished(let step, _, _) = event { names[step.index] = step.description }
    }
    let expected = ["a", "b", "a", "b", "a", "b", "step 6", "sum", "step 8", "last"]
    #expect(names == Dictionary(uniqueKeysWithValues: zip(0..., expected)))
  }
}
