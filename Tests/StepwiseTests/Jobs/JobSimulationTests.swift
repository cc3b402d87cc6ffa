// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// What of jobs is not bound to the main actor, in 1,000 interleavings each.
@Suite(.timeLimit(.minutes(5)))
struct JobSimulationTests {
  // G135
  @Test(arguments: [1, 2, 3])
  func `A queue runs all jobs in order and never more than its limit`(maxConcurrent: Int) async {
    await forEachSeed(350) { generator in
      var generator = generator
      let (queue, begun, inside) = (JobQueue(maxConcurrent: maxConcurrent), Recorder<Int>(), Tally())
      let job = Job("job") { (number: Int) -> Int in
        begun.record(number)
        let count = inside.increment()
        await Task.yield()
        inside.add(-1)
        return count
      }
      let waits = (0..<12).map { _ in Bool.random(using: &generator) }
      var runs: [Run<Int>] = []
      for number in 0..<12 {
        runs.append(job.launch(number, on: queue))
        if waits[number] { await Task.yield() }
      }
      for run in runs {
        let count = try await run.value
        try require(count <= maxConcurrent, "\(count) at once")
      }
      if maxConcurrent == 1 { try require(begun.elements == Array(0..<12), "\(begun.elements)") }
      try require(begun.elements.sorted() == Array(0..<12), "\(begun.elements)")
    }
  }

  @Test func `A cancel at any moment ends its job and blocks no other`() async {
    await forEachSeed { generator in
      var generator = generator
      let (queue, worked) = (JobQueue(maxConcurrent: 2), Recorder<Int>())
      let job = Job("job") { (number: Int) -> Int in
        await Task.yield()
        try Task.checkCancellation()
        worked.record(number)
        return number
      }
      let runs: [Run<Int>] = (0..<10).map { job.launch($0, on: queue) }
      let chosen = (0..<10).filter { _ in Bool.random(using: &generator) }
      for number in chosen {
        await Task.yield()
        runs[number].cancel(reason: "\(number)")
      }
      for (number, run) in runs.enumerated() {
        switch await run.outcome {
        case .resolved(let value): try require(value == number && worked.elements.contains(number), "\(number)")
        case .cancelled(let cancellation):
          try require(chosen.contains(number) && cancellation.reason == "\(number)", "\(number): \(cancellation)")
        case .failed(let error): throw error
        }
      }
      let next: Run<Int> = job.launch(99, on: queue)
      try require(try await next.value == 99, "the queue is stuck")
    }
  }

  @Test func `cancelAll, suspend and resume at any moment lose no job`() async {
    await forEachSeed { generator in
      var generator = generator
      let queue = JobQueue(maxConcurrent: 2)
      let job = Job("job") { (_: Int) in
        await Task.yield()
        try Task.checkCancellation()
      }
      var runs: [Run<Void>] = []
      for number in 0..<20 {
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: queue.suspend()
        case 1: queue.resume()
        case 2: queue.cancelAll(reason: "all")
        case 3: queue.cancel(named: "job", reason: "all")
        case 4: await Task.yield()
        default: runs.append(job.priority(number.isMultiple(of: 2) ? .high : .low).launch(number, on: queue))
        }
      }
      queue.resume()
      for run in runs {
        if case .failed(let error) = await run.outcome { throw error }
      }
      let last: Run<Void> = job.launch(0, on: queue)
      try await last.value
    }
  }

  @Test func `Timers race the work and end it one way only`() async {
    await forEachSeed { generator in
      var generator = generator
      let (clock, queue) = (ManualClock(), JobQueue(maxConcurrent: 1))
      let yields = Int.random(in: 0..<12, using: &generator)
      let job = Job("job") { (number: Int) -> Int in
        for _ in 0..<yields {
          await Task.yield()
          try Task.checkCancellation()
        }
        return number
      }
      .timeout(.seconds(Int.random(in: 1...3, using: &generator)), clock: clock)
      .deadline(.seconds(Int.random(in: 1...6, using: &generator)), clock: clock)
      let runs: [Run<Int>] = (0..<4).map { job.launch($0, on: queue) }
      for _ in 0..<6 {
        for _ in 0..<Int.random(in: 0..<8, using: &generator) { await Task.yield() }
        clock.advance(by: .seconds(1))
      }
      for (number, run) in runs.enumerated() {
        switch await run.outcome {
        case .resolved(let value): try require(value == number, "\(number) gave \(value)")
        case .failed(let error): try require(error is TimeoutError, "\(number): \(error)")
        case .cancelled(let cancellation): throw Broken(description: "\(number): \(cancellation)")
        }
      }
      try require(clock.sleeperCount == 0, "a timer sleeps on")
    }
  }

  @Test func `No timeout runs while a job waits`() async {
    await forEachSeed { _ in
      let (clock, queue) = (ManualClock(), JobQueue(maxConcurrent: 1))
      queue.suspend()
      let run: Run<Int> = Job("job") { 1 }.timeout(.seconds(1), clock: clock).launch(on: queue)
      for _ in 0..<50 { await Task.yield() }
      try require(clock.sleeperCount == 0, "the timer runs")
      clock.advance(by: .seconds(100))
      queue.resume()
      try require(try await run.value == 1, "no value")
    }
  }

  @Test func `A subscriber sees the updates rise to the last one`() async {
    await forEachSeed { _ in
      let run = Job("job") { (job: JobContext<Int>) in
        for number in 0..<8 {
          job.update(number)
          await Task.yield()
        }
      }.launch(on: JobQueue(maxConcurrent: 1))
      let seen = await withTaskGroup(of: [Int].self) { group in
        for patience in 0..<3 {
          group.addTask {
            var seen: [Int] = []
            for await update in run.updates {
              seen.append(update)
              for _ in 0..<patience { await Task.yield() }
            }
            return seen
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      for updates in seen { try require(updates == updates.sorted() && updates.last == 7, "\(seen)") }
    }
  }
}
