// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// The executor of the code between steps.
@Suite(.timeLimit(.minutes(2)))
struct DurableExecutorTests {
  /// Arrivals that are delivered in the order of their numbers, whatever order they come in.
  private final class Arrivals: Sendable {
    private struct State {
      var waiting: [Int: Once<Void>] = [:]
      var arrived: Set<Int> = []
      var next = 0
    }

    private let state = Lock(State())

    /// Waits on the executor for the arrival of a number.
    @concurrent func wait(for number: Int, _ executor: DurableExecutor) async {
      let once = Once<Void>()
      state.withLock { $0.waiting[number] = once }
      executor.notify()
      await once.valueIgnoringCancellation()
    }

    func arrive(_ number: Int) { state.withLock { _ = $0.arrived.insert(number) } }

    func deliver() -> Bool {
      let once = state.withLock { state -> Once<Void>? in
        guard state.arrived.contains(state.next), let once = state.waiting.removeValue(forKey: state.next) else {
          return nil
        }
        state.next += 1
        return once
      }
      once?.settle(())
      return once != nil
    }
  }

  @Test func `The machine runs its jobs before it delivers, and rests when nothing is left`() {
    var machine = DurableExecutorMachine<Int>()
    var actions: [String] = []
    func next(_ count: Int) { for _ in 0..<count { actions.append("\(machine.next(on: 1))") } }
    let starts = [machine.enqueue(1, "a", on: 7), machine.notify()]
    #expect(starts == [true, false])
    next(1)
    let isStarted = [machine.enqueue(2, nil, on: 1), machine.enqueue(3, "a", on: 1)]
    #expect(isStarted == [false, false])
    next(4)
    #expect(actions == ["run(1)", "run(3)", "run(2)", "deliver", "rest"])
    let notes = [machine.notify(), machine.notify()]
    #expect(notes == [true, false])
    next(1)
    // What arrives while it delivers is not missed.
    let isMissed = machine.notify()
    #expect(!isMissed)
    next(2)
    #expect(actions.suffix(3) == ["deliver", "deliver", "rest"])
  }

  // A runtime may cut the code of a task into more jobs than another one.
  @Test func `The jobs of one task run together, and one that yields without end lets others run`() {
    var machine = DurableExecutorMachine<String>()
    var order: [String] = []
    _ = machine.free()
    for name in ["a", "b"] { _ = machine.enqueue("\(name)1", name, on: 1) }
    var waits = true
    while order.count < 1_000, case .run(let job) = machine.next(on: 1) {
      order.append(job)
      if job == "b2" { waits = false }
      if job.hasPrefix("a") ? waits : order.last != "b3" {
        let name = String(job.prefix(1))
        _ = machine.enqueue("\(name)\((Int(job.dropFirst()) ?? 0) + 1)", name, on: 1)
      }
    }
    #expect(Array(order.suffix(5)) == ["a100", "b1", "b2", "b3", "a101"])
    #expect(order.count == 104)
  }

  @Test func `The machine keeps no more jobs than twice those that wait`() {
    var machine = DurableExecutorMachine<Int>()
    var jobs = (0..<2).map { $0 }
    _ = machine.free()
    for job in jobs { _ = machine.enqueue(job, nil, on: 1) }
    for count in 2..<100_000 {
      guard case .run(let job) = machine.next(on: 1) else { break }
      #expect(job == count - 2)
      jobs.append(count)
      _ = machine.enqueue(count, nil, on: 1)
      #expect(machine.count <= 4_096)
    }
    #expect(jobs.count == 100_000)
  }

  @Test func `The machine holds what comes from elsewhere, unless it has left to return`() {
    var machine = DurableExecutorMachine<Int>()
    var actions: [String] = []
    func next(_ count: Int) { for _ in 0..<count { actions.append("\(machine.next(on: 1))") } }
    // The first job begins the code, wherever it comes from; tasks are numbered as they begin.
    _ = machine.enqueue(1, "a", on: 7)
    next(1)
    _ = machine.enqueue(2, "b", on: 1)
    _ = machine.enqueue(3, nil, on: 1)
    next(1)
    #expect(machine.task == 1)
    machine.depart()
    next(1)
    #expect(machine.task == nil)
    for (job, name) in [(4, "b"), (5, "b"), (6, "a"), (7, "c")] { _ = machine.enqueue(job, name, on: 7) }
    next(3)
    #expect(actions == ["run(1)", "run(2)", "run(3)", "run(4)", "deliver", "rest"])
    #expect(machine.held == [1, 0, 2])
    let starts = [machine.admit(0), machine.admit(0)]
    #expect(starts == [true, false] && machine.held == [1, 2])
    next(2)
    #expect(actions.suffix(2) == ["run(6)", "rest"])
    let startsFree = machine.free()
    let free = machine.enqueue(8, "d", on: 7)
    #expect(startsFree && machine.held.isEmpty && !free)
    next(4)
    #expect(actions.suffix(4) == ["run(5)", "run(7)", "run(8)", "rest"])
  }

  /// An actor goes on with the code of a run in a job that has no name, also on another thread.
  @Test func `What an actor resumes which something else had occupied comes from elsewhere`() {
    var machine = DurableExecutorMachine<Int>()
    var actions: [String] = []
    func next(_ count: Int) { for _ in 0..<count { actions.append("\(machine.next(on: 1))") } }
    _ = machine.enqueue(1, "a", on: 1)
    next(1)
    #expect(machine.isRunningTask(on: 1) && !machine.isRunningTask(on: 7))
    _ = machine.enqueue(2, nil, on: 7)
    next(1)
    #expect(!machine.isRunningTask(on: 1))
    for name in ["a", "b"] { _ = machine.enqueue(3, name, on: 1) }
    #expect(machine.held == [0, 1])
    next(2)
    #expect(actions == ["run(1)", "run(2)", "deliver", "rest"])
    // One that it has occupied itself keeps its place.
    _ = machine.enqueue(4, "c", on: 7)
    _ = machine.admit(2)
    next(1)
    _ = machine.enqueue(5, nil, on: 1)
    next(1)
    _ = machine.enqueue(6, "d", on: 1)
    #expect(machine.held == [0, 1])
  }

  /// Runs child tasks whose waits end in the order of their numbers, and returns the order in which code continues.
  private func order(of count: Int, arrivingBy seed: UInt64) async -> [String] {
    let arrivals = Arrivals()
    let ledger = Ledger()
    let executor = DurableExecutor(on: globalConcurrentExecutor) { arrivals.deliver() }
    executor.free()
    var random = SeededGenerator(seed: seed)
    let numbers = (0..<count).shuffled(using: &random)
    await withTaskExecutorPreference(executor) {
      await withTaskGroup(of: Int.self) { group in
        for child in 0..<count {
          group.addTask {
            await arrivals.wait(for: child, executor)
            for _ in 0..<(child % 3) { await Task.yield() }
            ledger.add("child \(child)")
            return child
          }
        }
        // From other threads, in a random order.
        await withTaskExecutorPreference(globalConcurrentExecutor) {
          await withTaskGroup(of: Void.self) { others in
            for number in numbers {
              others.addTask {
                arrivals.arrive(number)
                executor.notify()
              }
            }
          }
        }
        for await child in group { ledger.add("next \(child)") }
      }
    }
    return ledger.lines
  }

  @Test func `Arrivals in any order are delivered one at a time, each when all code waits`() async {
    for seed in 0..<40 {
      let lines = await order(of: 6, arrivingBy: UInt64(seed))
      #expect(lines.filter { $0.hasPrefix("child") } == (0..<6).map { "child \($0)" })
      #expect(lines.filter { $0.hasPrefix("next") } == (0..<6).map { "next \($0)" })
    }
  }

  @Test func `Code of one run never runs at the same time, also in actors and child tasks`() async {
    let executor = DurableExecutor(on: globalConcurrentExecutor) { false }
    executor.free()
    let overlaps = Overlaps()
    let actor = Worker()
    await withTaskExecutorPreference(executor) {
      await withTaskGroup { group in
        for _ in 0..<50 {
          group.addTask {
            for _ in 0..<20 {
              overlaps.work()
              await Task.yield()
              await actor.perform { overlaps.work() }
            }
          }
        }
      }
    }
    #expect(overlaps.count.withLock { $0 } == 0)
  }

  private final class Overlaps: Sendable {
    let count = Lock(0)
    private let running = Lock(0)

    func work() {
      running.withLock { $0 += 1 }
      for _ in 0..<1_000 where running.withLock({ $0 }) > 1 { count.withLock { $0 += 1 } }
      running.withLock { $0 -= 1 }
    }
  }

  private actor Worker {
    func perform(_ work: @Sendable () -> Void) { work() }
  }

  /// An executor with the threads of the global one.
  private final class Chosen: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      detach(on: globalConcurrentExecutor) { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
  }

  // G184
  @Test func `An executor that a chain chooses runs bodies, and not the code between them`() async throws {
    let chosen = Chosen()
    @Sendable func isOnChosen() -> Bool { currentExecutor as? Chosen === chosen }
    let chain = Chain("a") { (_: Int) in
      let between = isOnChosen()
      let body = try await step("body") { isOnChosen() }
      let limited = try await step("limited", timeout: .seconds(3_600)) { isOnChosen() }
      async let child = step("child") { isOnChosen() }
      return [between, body, limited, try await child, isOnChosen()]
    }
    .executor(chosen)
    let store = MemoryCheckpointStore()
    #expect(try await chain.run(1, id: "x", in: store) == [false, true, true, true, false])
  }
}
