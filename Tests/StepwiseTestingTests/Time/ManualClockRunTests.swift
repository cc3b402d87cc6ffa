// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import Stepwise
import StepwiseFlows
import Testing

@testable import StepwiseTesting

@Suite(.timeLimit(.minutes(5)))
struct ManualClockRunTests {
  private struct Failure: Error {}

  @Test
  func `The time passes while the body sleeps, and only then`() async throws {
    let clock = ManualClock()
    let end = try await clock.run {
      #expect(clock.now.offset == .zero)
      try await clock.sleep(for: .seconds(3_600))
      for _ in 0..<100 { await Task.yield() }
      #expect(clock.now.offset == .seconds(3_600))
      try await clock.sleep(for: .seconds(1))
      return clock.now.offset
    }
    #expect(end == .seconds(3_601))
    #expect(clock.now.offset == .seconds(3_601))
  }

  @Test
  func `A retried chain passes its backoff without advancing the clock`() async throws {
    let clock = ManualClock()
    let attempts = Recorder<Duration>()
    let policy = RetryPolicy(maxAttempts: 4, backoff: .constant(.seconds(60)))
    let chain = Chain { (input: Int) in
      attempts.record(clock.now.offset)
      if attempts.elements.count < 4 { throw Failure() }
      return input
    }
    .retry(policy, clock: clock)
    #expect(try await clock.run { try await chain.run(1) } == 1)
    #expect(attempts.elements == [.zero, .seconds(60), .seconds(120), .seconds(180)])
    // Runs that the body starts are waited for, too.
    #expect(try await clock.run { try await chain.start(2).value } == 2)
  }

  @Test
  func `Concurrent sleepers wake in the order of their deadlines, 1,000 seeds`() async throws {
    for seed: UInt64 in 0..<1_000 {
      var random = SeededGenerator(seed: seed)
      let naps = (0..<5).map { _ in (0..<3).map { _ in Int.random(in: 1...20, using: &random) } }
      let clock = ManualClock()
      let woken = Recorder<Duration>()
      try await clock.run {
        try await withThrowingTaskGroup { group in
          for naps in naps {
            group.addTask {
              var time = Duration.zero
              for nap in naps {
                try await clock.sleep(for: .seconds(nap))
                time += .seconds(nap)
                #expect(clock.now.offset == time, "seed \(seed)")
                woken.record(time)
              }
            }
          }
          try await group.waitForAll()
        }
      }
      #expect(woken.elements == woken.elements.sorted(), "seed \(seed)")
      #expect(clock.now.offset == .seconds(naps.map { $0.reduce(0, +) }.max() ?? 0), "seed \(seed)")
    }
  }

  @Test
  func `The body's error is thrown, and remaining sleepers are cancelled`() async {
    let clock = ManualClock()
    await #expect(throws: Failure.self) {
      try await clock.run {
        async let nap: Void = clock.sleep(for: .seconds(10))
        if clock.now.offset == .zero { throw Failure() }
        try await nap
      }
    }
  }

  @Test
  func `Cancellation reaches the body`() async {
    let clock = ManualClock()
    let began = Recorder<Void>()
    let task = Task {
      try await clock.run {
        began.record(())
        let never = Recorder<Void>()
        await never.elements(atLeast: 1)
        try Task.checkCancellation()
      }
    }
    await began.elements(atLeast: 1)
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @MainActor @Test
  func `A sleeper on the main actor does not keep the time from passing`() async throws {
    let clock = ManualClock()
    try await clock.run { @MainActor in
      try await clock.sleep(for: .seconds(5))
      MainActor.assertIsolated()
    }
    #expect(clock.now.offset == .seconds(5))
  }

  // G170
  /// The handlers keep the main actor busy for a while, in which the executor of the body has nothing to do.
  @Test
  func `No time passes while a job calls its handlers on the main actor`() async throws {
    for _ in 0..<10 {
      let (clock, times) = (ManualClock(), Recorder<Duration>())
      @Sendable func spin() {
        for _ in 0..<5_000 where clock.now.offset == .zero { sched_yield() }
        times.record(clock.now.offset)
      }
      let job = Job("work") { (number: Int) in number }.onStart { spin() }.onFinish { _ in spin() }
      let outcome = try await clock.run {
        // Cancelled when the job has ended.
        async let _: Void = clock.sleep(for: .seconds(60))
        await clock.sleepers(atLeast: 1)
        return await job.launch(1, on: JobQueue(maxConcurrent: 1)).outcome
      }
      #expect("\(outcome)" == "succeeded with Int")
      #expect(times.elements == [.zero, .zero])
    }
  }

  // G261
  @Test func `No time passes while a step or a handler runs on the main actor`() async throws {
    for _ in 0..<50 {
      let (clock, times) = (ManualClock(), Recorder<Duration>())
      @MainActor func spin() {
        for _ in 0..<200 where clock.now.offset == .zero { sched_yield() }
        times.record(clock.now.offset)
      }
      let chain = Chain("render") { @MainActor (number: Int) in
        spin()
        return number
      }
      .then { $0 + 1 }
      .finally { @MainActor _ in spin() }
      .timeout(.seconds(60), clock: clock)
      #expect(try await clock.run { try await chain.run(1) } == 2)
      #expect(times.elements == [.zero, .zero])
      #expect(clock.now.offset == .zero)
    }
  }

  // G261
  /// The screen answers at once, and its navigator dismisses it at once.
  @Test func `No time passes while a flow does not wait`() async throws {
    for _ in 0..<50 {
      let clock = ManualClock()
      let flow = await Self.flow(clock)
      let chain = Chain { () in try await flow.run() }.timeout(.seconds(60), clock: clock)
      #expect(try await clock.run { try await chain.run() } == 3)
      #expect(clock.now.offset == .zero)
    }
  }

  @MainActor private final class Screen {}

  @MainActor private static func flow(_ clock: ManualClock) -> Flow<Int> {
    let navigator = InMemoryNavigator<Screen>()
    let first = FlowStep<Void, Int>("first", .present, on: navigator) { handler in
      Task { @MainActor in handler.complete(1) }
      return Screen()
    }
    let second = FlowStep<Int, Int>("second") { handler in handler.complete(handler.content + 1) }
    let third = FlowStep<Int, Int>("third") { handler in handler.complete(handler.content + 1) }
    return Flow<Int>("flow", first: first, content: ())
      .on(first) { number, _ in .next(second, number) }
      .on(second) { number, _ in .next(third, number) }
      .on(third) { number, _ in .finish(number) }
      .dismissLimit(.seconds(10), clock: clock)
  }

  // G261
  @Test func `A blocked main thread does not keep the time from passing`() async {
    let (queue, end) = (DispatchQueue(label: "main"), DispatchSemaphore(value: 0))
    queue.async { end.wait() }
    let executor = QuietExecutor(mainQueue: queue, patience: 0.01)
    for _ in 0..<3 { await withTaskExecutorPreference(executor) { @concurrent in await executor.quiet() } }
    end.signal()
    queue.sync {}
    await withTaskExecutorPreference(executor) { @concurrent in await executor.quiet() }
  }
}
