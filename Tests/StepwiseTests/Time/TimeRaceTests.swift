// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// Timers, cancels and results that meet at one instant, in the orders of a thousand seeds.
@Suite(.timeLimit(.minutes(5)))
struct TimeRaceTests {
  // G66
  @Test func `A value that races the timer wins`() throws {
    var kinds: Set<Bool> = []
    for seed in seeds() {
      let clock = ManualClock()
      let returned = Recorder<Int>()
      let outcome = try SeededExecutor(seed: seed, clock: clock).run {
        let step = Step<Int, Int>("meets") { number in
          try await clock.sleep(for: .seconds(3))
          await Task.yield()
          try await clock.sleep(for: .seconds(2))
          returned.record(number)
          return number
        }
        return await Chain(step.timeout(.seconds(5), clock: clock)).start(1).outcome
      }
      if case .failed(let error) = outcome { #expect((error as? TimeoutError)?.step == "meets", "seed \(seed)") }
      #expect(outcome.isResolved == !returned.elements.isEmpty, "seed \(seed): a value was thrown away")
      kinds.insert(outcome.isResolved)
    }
    #expect(!kinds.isEmpty)
  }

  @Test func `Nested timers that race keep their identity`() throws {
    var durations: Set<Duration> = []
    for seed in seeds() {
      let clock = ManualClock()
      let error = try SeededExecutor(seed: seed, clock: clock).run {
        let chain = Chain("first") { (number: Int) -> Int in
          try await clock.sleep(for: .seconds(1))
          return number
        }
        .appending(
          Step<Int, Int>("second") { number in
            try await clock.sleep(for: .seconds(100))
            return number
          }
          .timeout(.seconds(5), clock: clock)
        )
        .timeout(.seconds(6), clock: clock)
        return await #expect(throws: TimeoutError.self) { try await chain.run(1) }
      }
      #expect(error?.step == "second", "seed \(seed)")
      if error?.duration == .seconds(5) { #expect(error?.underlyingError == nil, "seed \(seed)") }
      if let duration = error?.duration { durations.insert(duration) }
      #expect(clock.now.offset == .seconds(6))
    }
    #expect(durations == [.seconds(5), .seconds(6)], "both orders were met")
  }

  @Test func `A cancel that races the timer is not lost`() throws {
    var kinds: Set<String> = []
    for seed in seeds() {
      let clock = ManualClock()
      let (isGranted, outcome) = try SeededExecutor(seed: seed, clock: clock).run {
        let step = Step<Int, Int> { number in
          try await clock.sleep(for: .seconds(100))
          return number
        }
        let run = Chain(step.timeout(.seconds(5), clock: clock)).start(1)
        let isGranted = await withTaskGroup(of: Bool.self) { group in
          group.addTask {
            try? await clock.sleep(for: .seconds(5))
            for _ in 0..<(seed % 5) { await Task.yield() }
            return run.cancel(reason: "requested")
          }
          return await group.next() ?? false
        }
        return (isGranted, await run.outcome)
      }
      switch outcome {
      case .resolved: Issue.record("seed \(seed): a value from nowhere")
      case .failed(let error):
        #expect(error is TimeoutError && !isGranted, "seed \(seed)")
        kinds.insert("timed out")
      case .cancelled(let cancellation):
        #expect(isGranted && cancellation.reason == "requested", "seed \(seed)")
        let underlying = cancellation.underlyingError
        #expect(underlying == nil || underlying is TimeoutError, "seed \(seed)")
        kinds.insert(underlying == nil ? "cancelled" : "cancelled after the timer")
      }
    }
    #expect(kinds == ["timed out", "cancelled", "cancelled after the timer"], "\(kinds)")
  }

  // G67
  /// A value is either the run's or given to `discarding`, never both and never neither.
  @Test(arguments: [true, false])
  func `An abandoned value is delivered exactly once`(isWholeChain: Bool) throws {
    var kinds: Set<Bool> = []
    for seed in seeds() {
      let clock = ManualClock()
      let discarded = Recorder<Int>()
      let undone = Recorder<Int>()
      let outcome = try SeededExecutor(seed: seed, clock: clock).run {
        let step = Step<Int, Int> { number in
          await shielded { try? await clock.sleep(for: .seconds(5)) }
          return number
        }
        let limit = Duration.seconds(5)
        let chain =
          isWholeChain
          ? Chain { (number: Int) in number }
            .then("opened", undo: { undone.record($0) }) { $0 }
            .appending(step).abandon(after: limit, clock: clock) { discarded.record($0) }
          : Chain(step).abandon(after: limit, clock: clock) { discarded.record($0) }
        return await chain.start(7).outcome
      }
      if case .failed(let error) = outcome { #expect(error is TimeoutError, "seed \(seed)") }
      #expect(discarded.elements == (outcome.isResolved ? [] : [7]), "seed \(seed)")
      #expect(undone.elements == (outcome.isResolved || !isWholeChain ? [] : [7]), "seed \(seed)")
      kinds.insert(outcome.isResolved)
    }
    #expect(kinds == [true, false], "both orders were met")
  }
}

extension Outcome {
  fileprivate var isResolved: Bool {
    if case .resolved = self { true } else { false }
  }
}

/// A clock that advances whenever it is read.
private struct RestlessClock: Clock {
  struct Instant: InstantProtocol {
    var offset: Duration

    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (first: Instant, second: Instant) -> Bool { first.offset < second.offset }
  }

  let reads = Recorder<Void>()
  let deadlines = Recorder<Duration>()

  var now: Instant {
    reads.record(())
    return Instant(offset: .seconds(reads.elements.count))
  }

  var minimumResolution: Duration { .zero }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws { deadlines.record(deadline.offset) }
}

@Suite(.timeLimit(.minutes(5)))
struct StartedLimitTests {
  @Test func `A limit that has started ends at one instant, however the clock advances meanwhile`() async throws {
    let clock = RestlessClock()
    let limit = TimeLimit(duration: .seconds(60), clock: clock).started()
    try await limit.sleep()
    try await limit.sleep()
    #expect(clock.deadlines.elements == [.seconds(61), .seconds(61)])
  }
}
