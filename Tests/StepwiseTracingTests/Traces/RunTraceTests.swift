// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseTracing

/// What a trace says of a run, under a manual clock that the steps advance.
@Suite(.timeLimit(.minutes(5)))
struct RunTraceTests {
  private let clock = ManualClock()

  /// A step that takes a time.
  private func step(_ name: String, _ milliseconds: Int, _ fault: Int? = nil) -> Step<Int, Int> {
    Step(name) { [clock] number in
      clock.advance(by: .milliseconds(milliseconds))
      if let fault { throw Fault(fault) }
      return number
    }
  }

  private func text(_ chain: Chain<Int, Int>) async -> String {
    await trace(clock: clock) { try await chain.run(1) }.trace.text
  }

  @Test func `Steps have their durations`() async {
    let chain = Chain(step("download", 120)).appending(step("decode", 30)).named("thumbnail")
    #expect(
      await text(chain) == """
        thumbnail · 150 ms
        ├─ download · 120 ms
        ╰─ decode · 30 ms

        """
    )
  }

  @Test func `A retry undoes and numbers its attempts`() async {
    let tally = Tally()
    let clock = clock
    let chain = Chain("reserve", undo: { (_: Int) in clock.advance(by: .milliseconds(5)) }) { (number: Int) in
      clock.advance(by: .milliseconds(10))
      return number
    }
    .then("pay") { number in
      clock.advance(by: .milliseconds(20))
      if tally.increment() == 1 { throw Fault(1) }
      return number
    }
    .retry(RetryPolicy(maxAttempts: 2, backoff: .none)).named("order")
    #expect(
      await text(chain) == """
        order · 65 ms
        ├─ reserve · undone · 10 ms
        ├─ pay · failed: Fault(number: 1) · 20 ms
        ├─ undid reserve (at 35 ms)
        ├─ attempt 1 failed: Fault(number: 1) (at 35 ms)
        ├─ reserve · attempt 2 · 10 ms
        ╰─ pay · attempt 2 · 20 ms

        """
    )
  }

  @Test func `A retried step has its attempts as notes`() async {
    let tally = Tally()
    let clock = clock
    let step = Step("flaky") { (number: Int) in
      clock.advance(by: .milliseconds(10))
      if tally.increment() < 3 { throw Fault(tally.total) }
      return number
    }
    .retry(RetryPolicy(maxAttempts: 3, backoff: .none))
    #expect(
      await text(Chain(step)) == """
        flaky · 30 ms
        ╰─ flaky · 30 ms
           ├─ attempt 1 failed: Fault(number: 1) (at 10 ms)
           ╰─ attempt 2 failed: Fault(number: 2) (at 20 ms)

        """
    )
  }

  @Test func `A failed run has its error and its undos`() async {
    let clock = clock
    let chain = Chain("reserve", undo: { (_: Int) in throw Fault(9) }) { (number: Int) in number }
      .then("ship", undo: { _ in clock.advance(by: .milliseconds(3)) }) { $0 }.appending(step("pay", 20, 1))
    #expect(
      await text(chain) == """
        reserve → pay · failed: Fault(number: 1) · 23 ms
        ├─ reserve · 0 ns
        ├─ ship · undone · 0 ns
        ├─ pay · failed: Fault(number: 1) · 20 ms
        ├─ undid ship (at 23 ms)
        ╰─ undo of reserve failed: Fault(number: 9) (at 23 ms)

        """
    )
  }

  @Test func `Nested chains are nested spans`() async {
    let inner = Chain(step("a", 10)).appending(step("b", 20)).named("inner")
    let chain = Chain(step("first", 5)).appending(inner).appending(step("last", 5)).named("outer")
    #expect(
      await text(chain) == """
        outer · 40 ms
        ├─ first · 5 ms
        ├─ inner · 30 ms
        │  ├─ a · 10 ms
        │  ╰─ b · 20 ms
        ╰─ last · 5 ms

        """
    )
  }

  @Test func `A chain that only nests another has both spans`() async {
    let inner = Chain(step("a", 10)).named("inner")
    let outer = Chain<Int, Int>.race(inner).named("outer")
    #expect(
      await text(outer) == """
        outer · 10 ms
        ╰─ race: inner · 10 ms
           ╰─ a · 10 ms

        """
    )
  }

  @Test func `The branches of a zip have their own spans`() async {
    let (left, right) = (Turnstile(), Turnstile())
    let clock = clock
    let chain = Chain<Int, (Int, Int)>.zip(
      Chain("left") { number in
        await right.passWhateverHappens()
        clock.advance(by: .milliseconds(10))
        left.open()
        return number
      },
      Chain("right") { number in
        right.open()
        await left.passWhateverHappens()
        return number
      }
    )
    .then("add") { $0.0 + $0.1 }.named("sum")
    let spans = await trace(clock: clock) { try await chain.run(1) }.trace.runs
    let branches = spans[0].children.filter { $0.kind == .run }
    #expect(branches.map(\.label).sorted() == ["zip: left", "zip: right"])
    #expect(branches.allSatisfy { $0.children.count == 1 && $0.start == .zero && $0.duration == .milliseconds(10) })
    #expect(spans[0].children.last?.name == "add")
  }

  @Test func `A time limit is named at the step that it cancelled`() async {
    let clock = clock
    let chain = Chain("wait") { (number: Int) in
      try await Turnstile().pass()
      return number
    }
    .timeout(.seconds(2), clock: clock).recover(from: TimeoutError.self) { _ in 0 }.named("limited")
    async let traced = trace(clock: clock) { try await chain.run(1) }
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(2))
    #expect(
      await traced.trace.text == """
        limited · 2 s
        ├─ wait · cancelled: timed out · 2 s
        ├─ timed out (at 2 s)
        ╰─ recovered (at 2 s)

        """
    )
  }

  @Test func `An abandoned step ends when the run abandons it`() async {
    let turnstile = Turnstile()
    let clock = clock
    let inner = Chain("ignorant") { (number: Int) in
      await turnstile.passWhateverHappens()
      return number
    }
    let chain = Chain(step("first", 1)).appending(inner.named("inner"))
      .abandon(after: .seconds(2), clock: clock).recover { _ in 0 }.named("outer")
    async let traced = trace(clock: clock) { try await chain.run(1) }
    await turnstile.visitors(atLeast: 1)
    await clock.sleepers(atLeast: 1)
    clock.advance(by: .seconds(2))
    let text = await traced.trace.text
    turnstile.open()
    #expect(
      text == """
        outer · 2 s
        ├─ first · 1 ms
        ├─ inner · abandoned · 2 s
        │  ╰─ ignorant · abandoned · 2 s
        ├─ abandoned (at 2 s)
        ╰─ recovered (at 2 s)

        """
    )
  }

  @Test(arguments: [Int.min, -1, 0, 1, .max])
  func `Any capacity makes a trace`(capacity: Int) async {
    let chain = Chain(step("a", 1)).appending(step("b", 2)).then { number in
      for index in 0..<100 { try await Stepwise.step("inner \(index)") {} }
      return number
    }
    let traced = await trace(capacity: capacity, clock: clock) { try await chain.run(1) }
    #expect((try? traced.result.get()) == 1)
    #expect(traced.trace.runs.count == 1)
    #expect((traced.trace.droppedEventCount == 0) == (capacity == .max))
  }

  @Test func `A trace shows the longest times`() async {
    let chain = Chain { [clock] (number: Int) in
      for _ in 0..<30 { clock.advance(by: .seconds(Int64.max)) }
      return number
    }
    let traced = await trace(clock: clock) { try await chain.run(1) }.trace
    #expect(traced.text.contains(" s\n"))
    #expect(!traced.svg.isEmpty)
    #expect(!traced.chromeTrace.isEmpty)
  }
}
