// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

extension Races {
  /// Jobs and their queues on real threads.
  @Suite struct JobRaceTests {
    private final class Arena: Sendable {
      let run: JobRun<Int, Int>
      let queue = JobQueue(maxConcurrent: 1)
      let reported = Recorder<String>()
      /// Set on the main actor when a cancel has returned there.
      let cancelled = CancellationToken()

      init() {
        let (reported, cancelled) = (reported, cancelled)
        @Sendable func note(_ line: String) {
          reported.record(cancelled.isCancelled ? "\(line) after the cancel" : line)
        }
        let job = Job("job") { (number: Int, job: JobContext<Int>) in
          for update in 0..<3 {
            job.update(update)
            await Task.yield()
          }
          return number
        }
        .onStart { note("0 start") }.onUpdate { note("1 update \($0)") }.onFinish { _ in note("2 finish") }
        run = job.launch(7, on: queue)
      }

      func cancelOnMainActor() {
        let (run, cancelled) = (run, cancelled)
        wait {
          await MainActor.run {
            run.cancel(reason: "left")
            cancelled.cancel()
          }
        }
      }

      var complaint: String? {
        let run = run
        let outcome = wait { await run.outcome }
        wait { await MainActor.run {} }
        let lines = reported.elements
        if lines.contains(where: { $0.hasSuffix("cancel") }) || lines != lines.sorted() { return "\(lines)" }
        switch outcome {
        case .resolved(7): return nil
        case .cancelled(let cancellation): return cancellation.reason == nil ? "no reason" : nil
        default: return "\(outcome)"
        }
      }
    }

    @Test func `No handler is called after a cancel on the main actor`() async {
      await race(rounds: rounds / 10, in: { Arena() }, { $0.cancelOnMainActor() }, referee: \.complaint)
    }

    @Test func `A job is cancelled from many threads`() async {
      await race(
        rounds: rounds / 10,
        in: { Arena() },
        { $0.cancelOnMainActor() },
        { $0.run.cancel(reason: "elsewhere") },
        { $0.queue.cancelAll(reason: "queue") },
        referee: \.complaint
      )
    }

    @Test func `A queue that many threads use loses no job`() async {
      await race(
        rounds: rounds / 10,
        in: { Hall() },
        { $0.launch(.high) },
        { $0.launch(.low) },
        { $0.queue.cancel(named: "job", reason: "all") },
        { hall in
          hall.queue.suspend()
          hall.queue.resume()
        },
        referee: \.complaint
      )
    }

    @Test func `A subscriber that arrives at any moment receives the newest update and the end`() async {
      await race(
        rounds: rounds / 10,
        in: { Gallery() },
        { $0.queue.resume() },
        { $0.watch() },
        { $0.watch() },
        referee: \.complaint
      )
    }

    private final class Gallery: Sendable {
      let queue = JobQueue(maxConcurrent: 1)
      let run: JobRun<Int, Void>
      let seen = Recorder<[Int]>()

      init() {
        queue.suspend()
        run = Job("job") { (job: JobContext<Int>) in
          for update in 0..<3 { job.update(update) }
        }.launch(on: queue)
      }

      func watch() {
        let (run, seen) = (run, seen)
        wait {
          var updates: [Int] = []
          for await update in run.updates { updates.append(update) }
          seen.record(updates)
        }
      }

      var complaint: String? {
        seen.elements.allSatisfy { $0 == $0.sorted() && $0.last == 2 } ? nil : "\(seen.elements)"
      }
    }

    @Test func `Handlers and subscribers see the updates of two threads in the same order`() async {
      await race(
        rounds: rounds / 10,
        in: { Studio() },
        { $0.context.update(1) },
        { $0.context.update(2) },
        { $0.over.settle(()) },
        referee: \.complaint
      )
    }

    private final class Studio: Sendable {
      let context: JobContext<Int>
      private let run: JobRun<Int, Void>
      private let subscriber: Task<[Int], Never>
      private let called = Recorder<Int>()
      let over = Once<Void>()

      init() {
        let (called, over, begun, subscribed) = (called, over, Once<JobContext<Int>>(), Once<Void>())
        let run = Job("job") { (job: JobContext<Int>) in
          begun.settle(job)
          await over.valueIgnoringCancellation()
        }.onUpdate { called.record($0) }.launch(on: JobQueue(maxConcurrent: 1))
        self.run = run
        subscriber = Task {
          var (updates, iterator) = ([Int](), run.updates.makeAsyncIterator())
          subscribed.settle(())
          while let update = await iterator.next(isolation: nil) { updates.append(update) }
          return updates
        }
        context = wait {
          await subscribed.valueIgnoringCancellation()
          return await begun.valueIgnoringCancellation()
        }
      }

      var complaint: String? {
        let (run, subscriber) = (run, subscriber)
        let received = wait {
          _ = await run.outcome
          return await subscriber.value
        }
        let called = called.elements
        return received == called || received == called.suffix(1) ? nil : "\(received) instead of \(called)"
      }
    }

    private final class Hall: Sendable {
      let queue = JobQueue(maxConcurrent: 2)
      let runs = Recorder<Run<Int>>()

      func launch(_ priority: TaskPriority) {
        let job = Job("job") { (number: Int) in number }.priority(priority)
        for number in 0..<8 { runs.record(job.launch(number, on: queue)) }
      }

      var complaint: String? {
        let (runs, queue) = (runs, queue)
        return wait {
          for run in runs.elements {
            if case .failed(let error) = await run.outcome { return "\(error)" }
          }
          let last: Run<Int> = Job("last") { 1 }.launch(on: queue)
          return (try? await last.value) == 1 ? nil : "the queue is stuck"
        }
      }
    }
  }
}
