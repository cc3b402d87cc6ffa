// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The sequences of runs and jobs, iterated by hand, in and outside of an actor.
@Suite(.timeLimit(.minutes(5)))
struct IteratorTests {
  private let chain = Chain { (number: Int) in number + 1 }
  private let job = Job("count") { (number: Int, job: JobContext<Int>) in
    job.update(number)
    return number
  }

  @Test @MainActor func `Iterators return their elements on the main actor`() async {
    let run = chain.start(1)
    _ = await run.outcome
    var events = run.events.makeAsyncIterator()
    if case .started = await events.next(isolation: nil) {} else { Issue.record("not started") }
    var progress = run.progress.makeAsyncIterator()
    #expect(await progress.next(isolation: nil)?.fractionCompleted == 1)
    #expect(await progress.next(isolation: nil) == nil)
    let launched = job.launch(1)
    var updates = launched.updates.makeAsyncIterator()
    #expect(await updates.next(isolation: nil) == 1)
    #expect(await updates.next(isolation: nil) == nil)
  }

  @Test func `Iterators return their elements outside of actors`() async {
    let run = chain.start(1)
    _ = await run.outcome
    var events = run.events.makeAsyncIterator()
    var count = 0
    while await events.next(isolation: nil) != nil { count += 1 }
    #expect(count == 4)
    var progress = run.progress.makeAsyncIterator()
    #expect(await progress.next(isolation: nil)?.fractionCompleted == 1)
  }
}
