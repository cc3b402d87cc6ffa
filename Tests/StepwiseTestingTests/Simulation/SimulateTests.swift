// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Foundation
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SimulateTests {
  /// Tasks of every kind that record the order in which they ran.
  @Sendable private static func mixed(_ clock: ManualClock) async throws -> [String] {
    let log = Recorder<String>()
    await withTaskGroup { group in
      for number in 0..<4 {
        group.addTask {
          for turn in 0..<3 {
            log.record("\(number).\(turn)")
            await Task.yield()
          }
        }
      }
      group.addTask {
        try? await clock.sleep(for: .seconds(number(5)))
        log.record("five seconds")
      }
    }
    let unstructured = Task { log.record("unstructured") }
    let detached = Task.detached { log.record("detached") }
    await unstructured.value
    await detached.value
    return log.elements
  }

  @Test func `The same seed gives the same trace`() async throws {
    let first = try await simulate(seed: 7, Self.mixed)
    let second = try await simulate(seed: 7, Self.mixed)
    #expect(first.value == second.value)
    #expect(first.trace == second.trace)
    #expect(first.schedule == second.schedule)
    #expect(!first.trace.lines.isEmpty)
  }

  /// A change of the generator, of the choice or of the numbering shows here: seeds in users' reports must keep their meaning.
  @Test func `A seed keeps its meaning`() async throws {
    let run = try await simulate(seed: 42) { clock in
      await withTaskGroup { group in
        for _ in 0..<3 { group.addTask { await Task.yield() } }
      }
      try await clock.sleep(for: .seconds(1))
      simulationNote("awake")
    }
    #expect(run.schedule == "0:2 1:0 2:0 3:1 4:0")
    let choices = [(4, 3), (2, 3), (3, 3), (2, 3), (4, 3), (4, 3), (3, 3), (3, 3), (2, 2)]
    #expect(
      run.trace.lines == ["task 1"] + choices.map { "task \($0.0), one of \($0.1) ready" }
        + ["task 1", "the clock moves to 1.0 seconds", "task 1", "  task 1: awake"]
    )
  }

  @Test func `Another seed gives another order`() async throws {
    var orders: Set<[String]> = []
    for seed in 0..<20 as Range<UInt64> { orders.insert(try await simulate(seed: seed, Self.mixed).value) }
    #expect(orders.count > 10)
  }

  @Test func `A schedule repeats a seed`() async throws {
    for scheduling in [Scheduling.uniform, .pct(depth: 4)] {
      let original = try await simulate(seed: 3, scheduling: scheduling, Self.mixed)
      let repeated = try await simulate(schedule: original.schedule, Self.mixed)
      #expect(repeated.trace == original.trace)
    }
  }

  @Test func `Time moves to the next deadline when nothing is ready`() async throws {
    let run = try await simulate(seed: 1) { clock in
      try await clock.sleep(for: .seconds(3_600))
      return clock.now.offset
    }
    #expect(run.value == .seconds(3_600))
    #expect(run.trace.description.contains("the clock moves to 3600.0 seconds"))
  }

  @Test func `Tasks without the executor are taken over and named`() async throws {
    let run = try await simulate(seed: 1) { _ in
      await Task.detached { await Task.yield() }.value
    }
    #expect(run.escapes.map(\.destination) == [.globalExecutor])
  }

  @Test func `The main actor is named`() async throws {
    let run = try await simulate(seed: 1) { _ in await MainActor.run { 5 } }
    #expect(run.value == 5)
    #expect(run.escapes.map(\.destination).contains(.mainActor))
  }

  /// Without that, a virtual timeout would pass while the main actor is busy with other tests.
  @Test
  func `Time does not move while a task waits for the main actor`() async throws {
    for seed in 0..<50 as Range<UInt64> {
      let run = try await simulate(seed: seed) { clock in
        async let sleeper: Void = clock.sleep(for: .seconds(1))
        let offset = await MainActor.run { clock.now.offset }
        try await sleeper
        return offset
      }
      #expect(run.value == .zero)
    }
  }

  enum Elsewhere: CaseIterable, Sendable { case thread, dispatch, actorWithAnExecutor }

  @Test(arguments: Elsewhere.allCases)
  func `What resumes a task from another thread is named`(place: Elsewhere) async throws {
    let run = try await simulate(seed: 1) { _ in
      switch place {
      case .thread: await Self.resumed { resume in Thread.detachNewThread(resume) }
      case .dispatch: await Self.resumed { resume in DispatchQueue.global().async(execute: resume) }
      case .actorWithAnExecutor: await Apart().visit()
      }
    }
    #expect(run.escapes.map(\.destination) == [.outside])
    #expect(run.escapes.description.contains("another clock, Dispatch, a thread, an actor with its own executor"))
  }

  /// The thread still uses the executor when its job has ended the run, and with it what owned the executor.
  @Test func `A thread outlives the run that its job ends`() async throws {
    for seed in 0..<200 { _ = try await simulate(seed: UInt64(seed)) { _ in await Apart().visit() } }
  }

  /// A process of its own, as the clock resumes on the threads of Tasks, which other tests keep busy.
  @Test func `A real clock is named`() async {
    await #expect(processExitsWith: .success) {
      // A sleep that is over before the task has suspended leaves nothing, so there are several.
      var escapes: [SimulationEscape] = []
      for _ in 0..<100 where escapes.isEmpty {
        // Safety: what leaves the simulation is the clock itself; nothing depends on the time.
        escapes = try await simulate(seed: 1) { _ in try await Task.sleep(for: .milliseconds(1)) }.escapes
      }
      #expect(escapes.map(\.destination) == [.outside])
    }
  }

  /// Suspends a task, then sends its resume.
  private static func resumed(by send: (@escaping @Sendable () -> Void) -> Void) async {
    let continuations = Recorder<CheckedContinuation<Void, Never>>()
    async let waiting: Void = withCheckedContinuation { continuations.record($0) }
    // On the simulation's one thread, the other task has suspended when this one continues.
    let continuation = await continuations.elements(atLeast: 1)[0]
    send { continuation.resume() }
    await waiting
  }

  @Test
  func `A failure's report names the seed, the error and the schedule`() async throws {
    let body: @Sendable (ManualClock) async throws -> Void = { clock in
      async let late: Void = clock.sleep(for: .seconds(1))
      let detached = Task.detached { simulationNote("on its way") }
      await detached.value
      try await late
      throw SimulationError.unmet("seven")
    }
    let line = #line + 1
    let failure = await #expect(throws: SimulationFailure.self) { try await simulate(seed: 5, body) }
    #expect(
      failure?.description == """
        Seed 5 (scheduling: .uniform) fails at StepwiseTestingTests/SimulateTests.swift:\(line): seven
        Shortest schedule that fails (0 of 0 decisions): simulate(schedule: "")
        What ran:
          task 1
          task 2, one of 2 ready
          task 3
          task 3
            task 3: on its way
          task 1
          the clock moves to 1.0 seconds
          task 2
          task 1
        What left the simulation: Task { } or Task.detached, which the simulation took over (2×)
        """
    )
  }

  @Test func `A stall ends and reports the schedule`() async throws {
    let failure = await #expect(throws: SimulationFailure.self) {
      try await simulate(seed: 9) { _ in _ = await Recorder<Int>().elements(atLeast: 1) }
    }
    #expect(failure?.error as? SimulationError == .stalled)
    #expect(failure?.description.contains("Seed 9") == true)
    #expect(failure?.fileID.hasSuffix("SimulateTests.swift") == true)
  }

  @Test(arguments: ["x", "1", "1:x", "2:1 1:1", "-1:2"]) func `Text that is not a schedule is refused`(_ text: String)
    async
  {
    await #expect(throws: SimulationError.invalidSchedule(text)) { try await simulate(schedule: text) { _ in } }
  }

  @Test func `Exploring a correct body tries all seeds`() async throws {
    let count = Recorder<Int>()
    let escapes = try await explore(seeds: 0..<50) { _ in count.record(1) }
    #expect(count.elements.count == 50)
    #expect(escapes.isEmpty)
  }

  @Test func `Exploring ends when its task is cancelled`() async {
    let task = Task { try await explore(seeds: 0..<UInt64.max) { _ in withUnsafeCurrentTask { _ in } } }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  private actor Account {
    func yielding() async -> ObjectIdentifier {
      await Task.yield()
      return currentThread()
    }
  }

  @Test
  func `A yield in an actor stays in the simulation`() async throws {
    for seed in 0..<200 as Range<UInt64> {
      let run = try await simulate(seed: seed) { _ in
        let (thread, account) = (currentThread(), Account())
        async let first = account.yielding()
        async let second = account.yielding()
        return await [first, second].allSatisfy { $0 == thread }
      }
      #expect(run.value && run.escapes.isEmpty)

      let escaped = try await simulate(seed: seed) { _ in
        let (thread, account) = (currentThread(), Account())
        let tasks = (0..<2).map { _ in Task { await account.yielding() } }
        var stayed = true
        for task in tasks { stayed = await task.value == thread && stayed }
        return stayed
      }
      let outside = escaped.escapes.first { $0.destination == .outside }
      #expect(escaped.value || outside?.description.contains("Task.yield() in an actor") == true)
    }
  }

  @Test func `Task-local values reach the body`() async throws {
    try await Local.$name.withValue("test") {
      let run = try await simulate(seed: 1) { _ in Local.name }
      #expect(run.value == "test")
    }
  }

  @Test(arguments: [Int.min, 0, 1_000_000, .max], [nil, Int.min, 0, .max])
  func `Any depth and length make a scheduling`(depth: Int, length: Int?) async throws {
    let run = try await simulate(seed: 1, scheduling: .pct(depth: depth, length: length)) { _ in
      async let one = 1
      async let two = 2
      return await one + two
    }
    #expect(run.value == 3)
  }

  @Test func `Notes appear in the trace`() async throws {
    let run = try await simulate(seed: 1) { _ in simulationNote("half way") }
    #expect(run.trace.description.contains("half way"))
  }
}

private actor Apart {
  private let executor = QueueExecutor()

  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  func visit() {}
}

private final class QueueExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "apart")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }
}

private enum Local {
  @TaskLocal static var name = ""
}

private func number(_ value: Int) -> Int { value }
