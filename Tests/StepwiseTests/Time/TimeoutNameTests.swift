// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// Which step a timeout names: one that was running.
@Suite(.timeLimit(.minutes(5)))
struct TimeoutNameTests {
  private let clock = ManualClock()

  private func slow(_ name: String) -> Chain<Int, Int> {
    let clock = clock
    return Chain(name) { (number: Int) in
      try await clock.sleep(for: .seconds(10))
      return number
    }
  }

  private func fast(_ name: String) -> Chain<Int, Int> { Chain(name) { (number: Int) in number } }

  private func both(_ one: Chain<Int, Int>, _ other: Chain<Int, Int>) -> Chain<Int, Int> {
    Chain.zip(one, other).then { (values: (Int, Int)) in values.0 + values.1 }
  }

  /// Returns the step that is named when the time is up, with the clock standing still while anything can run.
  private func named(_ chain: Chain<Int, Int>, isAbandoned: Bool) throws -> String? {
    let limited =
      isAbandoned ? chain.abandon(after: .seconds(5), clock: clock) : chain.timeout(.seconds(5), clock: clock)
    let outcome = try SeededExecutor(seed: 1, clock: clock).run { await limited.start(1).outcome }
    guard case .failed(let error as TimeoutError) = outcome else { return nil }
    return error.step
  }

  @Test(arguments: [false, true])
  func `A timeout names the step that runs beside finished ones`(isAbandoned: Bool) throws {
    let chains: [Chain<Int, Int>] = [
      both(slow("slow"), fast("fast1").appending(fast("fast2"))),
      both(fast("fast1").appending(fast("fast2")), slow("slow")),
      both(fast("fast1").appending(slow("slow")).appending(fast("after")), fast("fast2")),
      fast("first").appending(both(fast("fast1"), fast("fast2").appending(slow("slow")))),
      both(fast("fast1"), fast("fast2")).appending(slow("slow")),
    ]
    for chain in chains {
      #expect(try named(chain, isAbandoned: isAbandoned) == "slow")
    }
  }

  @Test(arguments: [false, true])
  func `A timeout names the first of several running steps`(isAbandoned: Bool) throws {
    let chain = both(fast("fast"), both(slow("one"), slow("two")))
    #expect(try named(chain, isAbandoned: isAbandoned) == "one")
  }

  @Test func `A timeout names a step of a doubly nested chain`() throws {
    var chain = slow("deep")
    for level in 0..<50 { chain = fast("level \(level)").appending(chain).appending(fast("after \(level)")) }
    #expect(try named(chain, isAbandoned: false) == "deep")
  }

  /// The step that failed is the one that is tried again, not one beside it that was cancelled for it.
  @Test func `A retry names the step that failed`() async {
    let failing = Chain("failing") { (number: Int) -> Int in throw Fault(number) }
    let beside = Chain("beside") { (_: Int) -> Int in
      _ = await Once<Void>().value()
      throw CancellationError()
    }
    let chain = fast("first").appending(both(beside, fast("a").appending(failing)))
      .retry(RetryPolicy(maxAttempts: 2, backoff: .none))
    let run = chain.start(1)
    _ = await run.outcome
    #expect(await briefEvents(of: run).contains { $0 == "end failing \(Fault(1))" || $0 == "retry failing 2" })
  }
}
