// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct JobQueueTests {
  private let done = Recorder<String>()

  private func job(_ name: String, _ priority: TaskPriority? = nil) -> Job<Void, Never, Void> {
    let job = Job(name) { done.record(name) }
    return priority.map { job.priority($0) } ?? job
  }

  // G135
  @Test func `Jobs begin in the order of the calls`() async {
    let queue = JobQueue(maxConcurrent: 1)
    let names = (0..<100).map { "\($0)" }
    let runs: [Run<Void>] = names.map { job($0).launch(on: queue) }
    for run in runs { _ = await run.outcome }
    #expect(done.elements == names)
  }

  // G135
  @Test func `Jobs start by priority, and in order within one priority`() async {
    let queue = JobQueue(maxConcurrent: 1)
    queue.suspend()
    var runs: [Run<Void>] = []
    runs.append(job("low 1", .low).launch(on: queue))
    runs.append(job("medium 1").launch(on: queue))
    runs.append(job("high 1", .high).launch(on: queue))
    runs.append(job("low 2", .low).launch(on: queue))
    runs.append(job("medium 2", .medium).launch(on: queue))
    runs.append(job("high 2", .high).launch(on: queue))
    queue.resume()
    for run in runs { _ = await run.outcome }
    #expect(done.elements == ["high 1", "high 2", "medium 1", "medium 2", "low 1", "low 2"])
  }

  @Test func `A launch may have its own priority`() async {
    let queue = JobQueue(maxConcurrent: 1)
    queue.suspend()
    var runs: [Run<Void>] = []
    runs.append(job("low", .high).launch(on: queue, priority: .low))
    runs.append(job("medium").launch(on: queue))
    runs.append(job("high").launch(on: queue, priority: .high))
    queue.resume()
    for run in runs { _ = await run.outcome }
    #expect(done.elements == ["high", "medium", "low"])
  }

  @Test func `The priority is that of the work`() async throws {
    let job = Job("job") { Task.currentPriority }.priority(.background)
    let run: Run<TaskPriority> = job.launch(on: JobQueue(maxConcurrent: 1))
    // Awaiting the value would raise it.
    let outcome = await Task(priority: .background) { await run.outcome }.value
    guard case .resolved(let priority) = outcome else {
      Issue.record("no value")
      return
    }
    #expect(priority <= .medium)
  }

  @Test(arguments: [1, 2, 5])
  func `No more jobs than allowed run at once`(maxConcurrent: Int) async {
    let queue = JobQueue(maxConcurrent: maxConcurrent)
    let (inside, most, goOn) = (Tally(), Recorder<Int>(), Once<Void>())
    let job = Job("job") {
      most.record(inside.increment())
      await goOn.valueIgnoringCancellation()
      inside.add(-1)
    }
    let runs: [Run<Void>] = (0..<20).map { _ in job.launch(on: queue) }
    await most.elements(atLeast: maxConcurrent)
    goOn.settle(())
    for run in runs { _ = await run.outcome }
    #expect(most.elements.max() == maxConcurrent)
    #expect(most.elements.count == 20)
  }

  @Test
  func `The shared queue is serial, and no queue blocks another`() async throws {
    let (goOn, begun) = (Once<Void>(), Once<Void>())
    let slow: Run<Void> = Job("slow on shared") {
      begun.settle(())
      await goOn.valueIgnoringCancellation()
      done.record("slow")
    }.launch()
    let next: Run<Void> = job("next").launch()
    await begun.valueIgnoringCancellation()
    try await job("elsewhere").launch(on: JobQueue(maxConcurrent: 1)).value
    #expect(done.elements == ["elsewhere"])
    goOn.settle(())
    try await slow.value
    try await next.value
    #expect(done.elements == ["elsewhere", "slow", "next"])
  }

  // G137
  @Test func `A suspended queue begins nothing and continues when resumed`() async throws {
    let queue = JobQueue(maxConcurrent: 2)
    let (goOn, begun) = (Once<Void>(), Once<Void>())
    let running: Run<Void> = Job("running") {
      begun.settle(())
      await goOn.valueIgnoringCancellation()
    }.launch(on: queue)
    await begun.valueIgnoringCancellation()
    queue.suspend()
    let waiting: Run<Void> = job("waiting").launch(on: queue)
    goOn.settle(())
    try await running.value
    #expect(!waiting.isFinished)
    #expect(done.elements == [])
    queue.resume()
    try await waiting.value
    #expect(done.elements == ["waiting"])
  }

  // G136
  @Test func `cancel(named:) cancels running and waiting jobs of that name`() async {
    let (queue, begun) = (JobQueue(maxConcurrent: 1), Once<Void>())
    let running: Run<Void> = Job("a") {
      begun.settle(())
      _ = await Once<Void>().value()
      try Task.checkCancellation()
    }.launch(on: queue)
    let waiting: Run<Void> = job("a").launch(on: queue)
    let other: Run<Void> = job("b").launch(on: queue)
    await begun.valueIgnoringCancellation()
    queue.cancel(named: "a", reason: "search again")
    queue.cancel(named: "unknown")
    #expect(await running.outcome.cancellation?.reason == "search again")
    #expect(await waiting.outcome.cancellation?.reason == "search again")
    #expect(await other.outcome.cancellation == nil)
    #expect(done.elements == ["b"])
    let again: Run<Void> = job("a").launch(on: queue)
    #expect(await again.outcome.cancellation == nil, "the name is not cancelled for good")
  }

  // G136
  @Test func `cancelAll cancels everything and the queue stays usable`() async throws {
    let (queue, begun) = (JobQueue(maxConcurrent: 1), Once<Void>())
    let running: Run<Void> = Job("running") {
      begun.settle(())
      _ = await Once<Void>().value()
      try Task.checkCancellation()
    }.launch(on: queue)
    let waiting: [Run<Void>] = (0..<100).map { job("\($0)").launch(on: queue) }
    await begun.valueIgnoringCancellation()
    queue.cancelAll(reason: "logout")
    for run in waiting + [running] { #expect(await run.outcome.cancellation?.reason == "logout") }
    #expect(done.elements == [], "none that waited begins when the one that runs makes room")
    try await job("after").launch(on: queue).value
    #expect(done.elements == ["after"])
  }

  @Test func `A waiting job that is cancelled leaves immediately`() async throws {
    let (queue, begun, goOn) = (JobQueue(maxConcurrent: 1), Once<Void>(), Once<Void>())
    let running: Run<Void> = Job("running") {
      begun.settle(())
      await goOn.valueIgnoringCancellation()
    }.launch(on: queue)
    await begun.valueIgnoringCancellation()
    let waiting: Run<Void> = job("waiting").launch(on: queue)
    waiting.cancel()
    // It does not wait for the one that runs.
    #expect(await waiting.outcome.cancellation != nil)
    #expect(!running.isFinished)
    goOn.settle(())
    try await running.value
  }

  @Test func `A waiting job has left when cancel returns`() {
    let queue = JobQueue(maxConcurrent: 1)
    queue.suspend()
    let runs: [Run<Void>] = (0..<3).map { job("\($0)").launch(on: queue) }
    runs[1].cancel()
    #expect(queue.gate.entrants.map(\.id) == [0, 2])
    queue.cancelAll()
    #expect(queue.gate.entrants.isEmpty)
  }

  @Test func `A job is launched any number of times on any queue`() async throws {
    let job = Job("double") { (number: Int) in number * 2 }
    let queues = [JobQueue(maxConcurrent: 1), JobQueue(maxConcurrent: 3)]
    let runs: [Run<Int>] = (0..<30).map { job.launch($0, on: queues[$0 % 2]) }
    for (number, run) in runs.enumerated() { #expect(try await run.value == number * 2) }
  }

  @Test
  func `waitUntilIdle() waits for all jobs, including those launched later`() async throws {
    let queue = JobQueue(maxConcurrent: 1)
    await queue.waitUntilIdle()
    queue.suspend()
    let next = Job("next") { [done] in done.record("next") }
    let first = Job("first") { [done, queue] in
      done.record("first")
      next.launch(on: queue)
    }
    .onFinish { [done] _ in done.record("first finished") }
    let run = first.launch(on: queue)
    let cancelled = Task { await queue.waitUntilIdle() }
    cancelled.cancel()
    await cancelled.value
    #expect(done.elements == [], "the drain of a cancelled task returns early")
    queue.resume()
    await queue.waitUntilIdle()
    #expect(run.isFinished)
    #expect(done.elements == ["first", "first finished", "next"])
  }

  @Test func `A released suspended queue resumes its jobs`() async throws {
    weak var queue: JobQueue?
    let runs = { () -> [Run<Void>] in
      let suspended = JobQueue(maxConcurrent: 1)
      queue = suspended
      suspended.suspend()
      return (0..<3).map { job("\($0)").launch(on: suspended) }
    }()
    try #require(queue == nil, "a job that waits keeps no queue")
    for run in runs { try await run.value }
    #expect(done.elements == ["0", "1", "2"])
  }
}
