// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct JobOwnerTests {
  @MainActor final class Screen {
    let notes: JobNotes
    init(_ notes: JobNotes) { self.notes = notes }
  }

  /// Not Sendable.
  final class Plain {}

  private let notes = JobNotes()
  private let queue = JobQueue(maxConcurrent: 1)

  // G132
  @Test @MainActor
  func `After its owner's deallocation, a job calls no handler`() async throws {
    var screen: Screen? = Screen(notes)
    let goOn = Once<Void>()
    var job = Job("job") { (job: JobContext<Int>) -> Int in
      job.update(1)
      await goOn.valueIgnoringCancellation()
      job.update(2)
      return Task.isCancelled ? 0 : 7
    }.noting(notes)
    if let screen { job = job.bound(to: screen) }
    let run = job.launch(on: queue)
    await notes.recorder.wait(for: "update 1")
    screen = nil
    goOn.settle(())
    #expect(try await run.value == 7)
    await letMainActorCatchUp()
    #expect(notes.lines == ["start", "update 1"])
  }

  @Test @MainActor func `An owner need not be Sendable`() async throws {
    var owner: Plain? = Plain()
    var job = Job("job") { 7 }.noting(notes)
    if let owner { job = job.bound(to: owner) }
    #expect(try await job.launch(on: queue).value == 7)
    #expect(notes.lines == ["start", "finish 7"])
    owner = nil
    #expect(try await job.launch(on: queue).value == 7)
    await letMainActorCatchUp()
    #expect(notes.lines == ["start", "finish 7"])
  }

  @Test @MainActor func `The owner is not retained`() async throws {
    let goOn = Once<Void>()
    weak var seen: Screen?
    let run: JobRun<Never, Void>
    do {
      let screen = Screen(notes)
      seen = screen
      run = Job("job") { await goOn.valueIgnoringCancellation() }.bound(to: screen).launch(on: queue)
    }
    #expect(seen == nil)
    goOn.settle(())
    try await run.value
  }

  @Test @MainActor func `cancel(boundTo:) cancels only the owner's jobs of that name`() async {
    let (mine, other, plain) = (Screen(notes), Screen(notes), Plain())
    queue.suspend()
    let done = Recorder<String>()
    func launch(_ name: String, _ text: String, _ owner: Screen?) -> Run<Void> {
      let job = Job(name) { done.record(text) }
      return (owner.map { job.bound(to: $0) } ?? job).launch(on: queue)
    }
    let runs = [
      launch("search", "mine", mine), launch("search", "other", other), launch("load", "load", mine),
      launch("search", "unbound", nil),
    ]
    let onMain: Run<Void> = Job("search") { done.record("plain") }.bound(to: plain).launch(on: queue)
    queue.cancel(named: "search", boundTo: mine, reason: "gone")
    queue.cancel(named: "search", boundTo: plain, reason: "gone")
    queue.resume()
    for run in runs { _ = await run.outcome }
    #expect(await runs[0].outcome.cancellation?.reason == "gone")
    #expect(await onMain.outcome.cancellation?.reason == "gone")
    #expect(done.elements == ["other", "load", "unbound"])
  }

  @Test func `Updates and the outcome remain without the owner`() async throws {
    let goOn = Once<Void>()
    let run: JobRun<Int, Int>
    do {
      let owner = LifetimeTracker()
      run = Job("job") { (job: JobContext<Int>) -> Int in
        await goOn.valueIgnoringCancellation()
        job.update(1)
        return 2
      }.onUpdate { _ in notes.note("update") }.bound(to: owner).launch(on: queue)
    }
    goOn.settle(())
    #expect(try await run.value == 2)
    var updates: [Int] = []
    for await update in run.updates { updates.append(update) }
    #expect(updates == [1])
    #expect(notes.lines == [])
  }
}
