// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

// What `run`, `start().value` and a run under a token do, written for these steps alone: what is left of their cost when
// a library has no types to erase, no modifiers and no readers.

/// What the code knows of its run and of its step there, as a task-local value.
private struct Around: Sendable {
  @TaskLocal static var current: Around?
  var run: HandRun?
  var step = -1
  var token: HandToken?
}

/// Starts a task that inherits the caller's name and executor preference as well.
private func startTask<Value: Sendable>(
  @_inheritActorContext _ body: sending @escaping @isolated(any) () async throws -> Value
) -> Task<Value, any Error> {
  guard #available(macOS 26.4, *) else { return Task(operation: body) }
  guard let executor = withUnsafeCurrentTask(body: { $0?.unownedTaskExecutor?.asTaskExecutor() }) else {
    return Task(name: Task.name, operation: body)
  }
  return Task(name: Task.name, executorPreference: executor) { try await body() }
}

/// The runs in flight of one chain, which `cancelRuns` reaches.
final class HandRuns: Sendable {
  private let runs = Mutex<(next: Int, all: [Int: HandRun])>((0, [:]))

  func add(_ run: HandRun) -> Int {
    runs.withLock { runs in
      runs.next += 1
      runs.all[runs.next] = run
      return runs.next
    }
  }

  func remove(_ number: Int) { _ = runs.withLock { $0.all.removeValue(forKey: number) } }
}

/// A run with a handle: it can be cancelled for a reason at any time, awaited by a task that may be cancelled, and read.
final class HandRun: Sendable {
  private struct State {
    var task: Task<Void, any Error>?
    var reason: String??
    var result: Result<Int, any Error>?
    var waiter: UnsafeContinuation<Void, Never>?
  }

  private let state = Mutex(State())
  private let times = Mutex<[Duration]>([])
  private let isCancelled = Atomic(false)

  static func start(_ closures: [AsyncClosure], _ input: Int, in runs: HandRuns) -> HandRun {
    let run = HandRun()
    let number = runs.add(run)
    let task = startTask {
      let result = await Around.$current.withValue(Around(run: run)) { await run.perform(closures, input) }
      runs.remove(number)
      run.finish(result)
    }
    run.state.withLock { $0.task = task }
    if run.isCancelled.load(ordering: .acquiring) { task.cancel() }
    return run
  }

  func cancel(reason: String?) {
    isCancelled.store(true, ordering: .releasing)
    let task = state.withLock { state in
      if state.reason == nil { state.reason = .some(reason) }
      return state.task
    }
    task?.cancel()
  }

  private func perform(_ closures: [AsyncClosure], _ input: Int) async -> Result<Int, any Error> {
    var value = input
    var begun = Self.now()
    times.withLock { $0.reserveCapacity(2 * closures.count) }
    do {
      for step in closures.indices {
        if Task.isCancelled || isCancelled.load(ordering: .acquiring) { throw CancellationError() }
        value = try await Around.$current.withValue(Around(run: self, step: step)) { try await closures[step](value) }
        let ended = Self.now()
        times.withLock { times in
          times.append(begun)
          times.append(ended)
        }
        begun = ended
      }
      return .success(value)
    } catch {
      return .failure(error)
    }
  }

  private static let origin = ContinuousClock.now

  // An instant, whose size the compiler does not know here, would be allocated in the memory of the task.
  @inline(never)
  private static func now() -> Duration { origin.duration(to: .now) }

  private func finish(_ result: Result<Int, any Error>) {
    let waiter = state.withLock { state in
      state.result = result
      return state.waiter.take()
    }
    waiter?.resume()
  }

  var value: Int {
    get async throws {
      await withTaskCancellationHandler {
        await withUnsafeContinuation { waiter in
          let isOver = state.withLock { state in
            guard state.result == nil, !Task.isCancelled else { return true }
            state.waiter = waiter
            return false
          }
          if isOver { waiter.resume() }
        }
      } onCancel: {
        state.withLock { $0.waiter.take() }?.resume()
      }
      guard let result = state.withLock({ $0.result }) else { throw CancellationError() }
      return try result.get()
    }
  }
}

/// A token that cancels tasks, in the order in which they began; each leaves it when it has ended.
final class HandToken: Sendable {
  private let state = Mutex<(isCancelled: Bool, next: Int, tasks: [Int: Task<Int, any Error>])>((false, 0, [:]))
  let isCancelled = Atomic(false)

  func cancel() {
    isCancelled.store(true, ordering: .releasing)
    let tasks = state.withLock { state in
      state.isCancelled = true
      return state.tasks.sorted { $0.key < $1.key }.map(\.value)
    }
    for task in tasks { task.cancel() }
  }

  /// Runs a body in the caller's isolation, in a task of its own, which the caller awaits and cancels: a token cannot
  /// cancel the caller's.
  func run(
    isolation: isolated (any Actor)? = #isolation,
    _ body: @concurrent @escaping () async throws -> Int
  ) async throws -> Int {
    var around = Around.current ?? Around()
    around.token = self
    let (scope, isLate) = (around, Task.isCancelled)
    let task = startTask {
      _ = isolation
      // Before the body, which the cancellation below might not precede.
      if isLate || self.isCancelled.load(ordering: .acquiring) { withUnsafeCurrentTask { $0?.cancel() } }
      return try await Around.$current.withValue(scope, operation: body)
    }
    let (number, isCancelled) = state.withLock { state in
      state.next += 1
      state.tasks[state.next] = task
      return (state.next, state.isCancelled)
    }
    if isCancelled { task.cancel() }
    defer { _ = state.withLock { $0.tasks.removeValue(forKey: number) } }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}

/// A chain with its types erased whose runs end at `cancelRuns` and with their task, and are counted while they last.
final class HandChain: Sendable {
  typealias Step = nonisolated(nonsending) @Sendable (inout HandSlot) async throws -> Void

  /// What a run is cancelled by besides its task, and what the code inside knows of it.
  private final class Plain: Sendable {
    @TaskLocal static var current: Plain?
    let generation: HandGeneration
    let token: HandToken?
    let step = Atomic(0)

    init(_ generation: HandGeneration, _ token: HandToken?) { (self.generation, self.token) = (generation, token) }
  }

  // In a structure, as a bare closure in an array would be called through another one.
  private struct Erased {
    let step: Step
  }

  private let steps: [Erased]
  private let generation = Mutex(HandGeneration())
  private let runsInFlight = Atomic(0)

  init(_ closures: [AsyncClosure]) {
    steps = closures.map { closure in Erased { slot in slot.put(try await closure(slot.take())) } }
  }

  func cancelRuns() {
    let ended = generation.withLock { exchange(&$0, with: HandGeneration()) }
    ended.isCancelled.store(true, ordering: .releasing)
  }

  nonisolated(nonsending) func run(_ input: Int) async throws -> Int {
    let run = Plain(generation.withLock { $0 }, Around.current?.token)
    var slot = HandSlot()
    slot.put(input)
    try await perform(run, &slot)
    return slot.take()
  }

  /// Leaves the caller's actor, once for all steps.
  @concurrent
  private func perform(_ run: Plain, _ slot: inout HandSlot) async throws {
    runsInFlight.add(1, ordering: .sequentiallyConsistent)
    defer { runsInFlight.subtract(1, ordering: .sequentiallyConsistent) }
    try await Plain.$current.withValue(run) {
      for index in steps.indices {
        if Task.isCancelled || run.generation.isCancelled.load(ordering: .acquiring) { throw CancellationError() }
        if let token = run.token, token.isCancelled.load(ordering: .acquiring) { throw CancellationError() }
        run.step.store(index, ordering: .relaxed)
        try await steps[index].step(&slot)
      }
    }
  }
}

final class HandGeneration: Sendable {
  let isCancelled = Atomic(false)
}

/// Memory for the values of steps, whatever their types.
struct HandSlot: ~Copyable {
  private let memory = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 8)

  deinit { memory.deallocate() }

  func put<Value>(_ value: Value) { memory.initializeMemory(as: Value.self, to: value) }
  func take<Value>() -> Value { memory.assumingMemoryBound(to: Value.self).move() }
}
