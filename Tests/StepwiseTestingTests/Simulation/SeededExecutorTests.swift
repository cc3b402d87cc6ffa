// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SeededExecutorTests {
  private struct Failure: Error {}

  /// Four workers of three rounds each, which yield between the rounds.
  private func trace(_ executor: SeededExecutor) throws -> [String] {
    try executor.run {
      let trace = Recorder<String>()
      await withTaskGroup { group in
        for worker in ["a", "b", "c", "d"] {
          group.addTask {
            for round in 1...3 {
              trace.record("\(worker)\(round)")
              await Task.yield()
            }
          }
        }
      }
      return trace.elements
    }
  }

  private func runAndTellTheThread(_ executor: SeededExecutor) throws -> ObjectIdentifier {
    try executor.run {}
    return currentThread()
  }

  @Test func `Three seeds give three interleavings`() throws {
    let traces = try (1...3 as ClosedRange<UInt64>).map { try trace(SeededExecutor(seed: $0)) }
    #expect(Set(traces).count == 3)
    for trace in traces {
      #expect(trace.count == 12)
      #expect(trace.filter { $0.hasPrefix("a") } == ["a1", "a2", "a3"])
    }
  }

  @Test func `The same seed gives the same trace`() throws {
    var traces: Set<[String]> = []
    for seed in 0..<100 as Range<UInt64> {
      let first = try trace(SeededExecutor(seed: seed))
      #expect(try trace(SeededExecutor(seed: seed)) == first)
      traces.insert(first)
    }
    #expect(traces.count > 90)
  }

  @Test func `A further run continues the same random sequence`() throws {
    let executor = SeededExecutor(seed: 1)
    let again = SeededExecutor(seed: 1)
    let first = try trace(executor)
    let second = try trace(executor)
    #expect(first != second)
    #expect(try [trace(again), trace(again)] == [first, second])
  }

  @Test func `The body's error is thrown`() {
    #expect(throws: Failure.self) { try SeededExecutor(seed: 1).run { throw Failure() } }
  }

  @Test func `Tasks left behind run to their end`() throws {
    let recorder = Recorder<Int>()
    let executor = SeededExecutor(seed: 1)
    try executor.run {
      _ = Task(executorPreference: executor) {
        for round in 1...5 {
          await Task.yield()
          recorder.record(round)
        }
      }
    }
    #expect(recorder.elements == [1, 2, 3, 4, 5])
  }

  @Test func `A stall is reported with its seed`() {
    let tracker = LifetimeTracker()
    #expect(throws: SimulationError.stalled) {
      try SeededExecutor(seed: 7).run { [token = tracker.track()] in
        await Recorder<Int>().elements(atLeast: 1)
        withExtendedLifetime(token) {}
      }
    }
    #expect(tracker.alive == 0)
    #expect("\(SimulationError.stalled)".contains("deadlock"))
  }

  @Test func `A stall is reported when no task sleeps`() {
    let clock = ManualClock()
    #expect(throws: SimulationError.stalled) {
      try SeededExecutor(seed: 3, clock: clock).run {
        try await clock.sleep(for: .seconds(1))
        await Recorder<Int>().elements(atLeast: 1)
      }
    }
    #expect(clock.now.offset == .seconds(1))
  }

  /// Jobs that come from other threads between two runs wait for the next one.
  @Test func `Jobs from other threads are run by the next run`() async throws {
    let executor = SeededExecutor(seed: 1)
    let wakeUp = Recorder<Int>()
    let awake = Recorder<Int>()
    try executor.run {
      for goal in 1...100 {
        Task(executorPreference: executor) {
          await wakeUp.elements(atLeast: goal)
          awake.record(goal)
        }
      }
    }
    await withTaskGroup { group in
      for element in 1...100 {
        group.addTask { wakeUp.record(element) }
      }
    }
    #expect(awake.elements == [])
    try executor.run {}
    #expect(awake.elements.sorted() == Array(1...100))
  }

  /// A job that comes back from the main actor too late is run by a later run, on the thread of that run.
  @Test @MainActor func `A job that returns from the main actor is not lost`() async throws {
    let executor = SeededExecutor(seed: 1)
    let visits = Recorder<String>()
    let threads = Recorder<ObjectIdentifier>()
    #expect(throws: SimulationError.stalled) {
      try executor.run {
        await MainActor.run { visits.record("main") }
        threads.record(currentThread())
      }
    }
    #expect(visits.elements == [])
    await visits.elements(atLeast: 1)
    var caller = currentThread()
    while threads.elements.isEmpty {
      await Task.yield()
      caller = try runAndTellTheThread(executor)
    }
    #expect(threads.elements == [caller])
  }
}
