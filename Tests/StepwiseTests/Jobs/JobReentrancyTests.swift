// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// A job that waits for what waits for the job itself gets an error instead of waiting for ever.
@Suite(.timeLimit(.minutes(5)))
struct JobReentrancyTests {
  /// How the job waits for the job behind it in its queue.
  enum Way: CaseIterable, Sendable {
    case value, outcome, chain, serialChain, timeout
  }

  private let queue = JobQueue(maxConcurrent: 1)
  private let other = JobQueue(maxConcurrent: 1)

  /// Launches a job behind the one that calls and waits for its end.
  private func waitForTheNext(_ way: Way) async throws -> Int {
    let job = Job("next") { 7 }
    let wait: @Sendable () async throws -> Int = { [queue] in try await job.launch(on: queue).value }
    switch way {
    case .value: return try await wait()
    case .outcome:
      let run: Run<Int> = job.launch(on: queue)
      return try await run.outcome.get()
    case .chain: return try await Chain(wait).run()
    case .serialChain: return try await Chain(wait).overlap(.serial).run()
    case .timeout: return try await Chain(Step { (_: Void) in try await wait() }.timeout(.seconds(600))).run()
    }
  }

  // G138
  @Test(arguments: Way.allCases)
  func `A job that waits for a job behind it on its queue is reentrant`(way: Way) async throws {
    let results = Recorder<String>()
    let run: Run<Void> = Job("first") {
      results.record(await resultOf { try await waitForTheNext(way) }.brief)
    }.launch(on: queue)
    try await run.value
    #expect(results.elements == ["failure \(ChainError.reentrant)"])
    // The job behind it was launched, and has its turn.
    try await Job("last") {}.launch(on: queue).value
  }

  @Test
  func `A job that is limited in time or bound to a deadline finds out, too`() async throws {
    let run: Run<Int> = Job("first") { try await waitForTheNext(.value) }
      .timeout(.seconds(600)).deadline(.seconds(900)).launch(on: queue)
    await #expect(throws: ChainError.reentrant) { try await run.value }
  }

  @Test
  func `A job may wait for a job that can start without it`() async throws {
    let wide = JobQueue(maxConcurrent: 2)
    let free: Run<Int> = Job("first") { try await Job("next") { 7 }.launch(on: wide).value }.launch(on: wide)
    #expect(try await free.value == 7)
    let apart: Run<Int> = Job("first") { [other] in try await Job("next") { 8 }.launch(on: other).value }
      .launch(on: queue)
    #expect(try await apart.value == 8)

    let (latch, begun) = (Once<Void>(), Once<Void>())
    let ahead: Run<Void> = Job("ahead") {
      begun.settle(())
      await latch.valueIgnoringCancellation()
    }.launch(on: other)
    await begun.valueIgnoringCancellation()
    let behind: Run<Int> = Job("behind") { 9 }.launch(on: other)
    let waiting: Run<Int> = Job("waiting") {
      latch.settle(())
      return try await behind.value
    }.launch(on: queue)
    #expect(try await waiting.value == 9)
    try await ahead.value
  }

  @Test
  func `A job may wait for a job behind it that it has cancelled`() async throws {
    let outcomes = Recorder<String>()
    let run: Run<Void> = Job("first") { [queue] in
      let next: Run<Int> = Job("next") { 7 }.launch(on: queue)
      next.cancel(reason: "not needed")
      outcomes.record(await next.outcome.brief)
    }.launch(on: queue)
    try await run.value
    #expect(outcomes.elements == ["cancelled not needed"])
  }

  @Test
  func `Launching a job behind its own without waiting is not reentrant`() async throws {
    let done = Recorder<String>()
    let first: Run<Run<Int>> = Job("first") { [queue] in
      defer { done.record("first") }
      return Job("next") {
        done.record("next")
        return 7
      }.launch(on: queue)
    }.launch(on: queue)
    #expect(try await first.value.value == 7)
    #expect(done.elements == ["first", "next"])
  }
}
