// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

// What `timeout` and `then` allocate beside the steps, written for these steps alone.

/// A run of some steps, which its code knows as the task-local value, with a time limit.
///
/// The timer claims its verdict before it cancels, and names the step that it found; a value wins even so. The caller's
/// cancellation reaches the work, also before its first step, and no clock is awaited that ignores cancellation.
final class HandLimitedRun: Sendable {
  @TaskLocal private static var current: HandLimitedRun?
  private let step = Atomic(0)
  private let isDecided = Atomic(false)
  private let isCancelled = Atomic(false)

  @concurrent func run(_ closures: [AsyncClosure], _ input: Int, limit: Duration) async throws -> Int {
    try await Self.$current.withValue(self) {
      try await withTaskCancellationHandler {
        let work = Task { await perform(closures, input) }
        let timer = Task {
          try await ContinuousClock().sleep(for: limit)
          guard decide() else { throw CancellationError() }
          defer { work.cancel() }
          return step.load(ordering: .relaxed)
        }
        let (result, isInTime) = await withTaskCancellationHandler {
          await work.value
        } onCancel: {
          work.cancel()
        }
        guard !isInTime, case .failure = result else {
          timer.cancel()
          return try result.get()
        }
        throw HandTimeout(step: try await timer.value)
      } onCancel: {
        isCancelled.store(true, ordering: .releasing)
      }
    }
  }

  private func perform(_ closures: [AsyncClosure], _ input: Int) async -> (Result<Int, any Error>, isInTime: Bool) {
    do {
      var value = input
      for index in closures.indices {
        if Task.isCancelled || isCancelled.load(ordering: .acquiring) { throw CancellationError() }
        step.store(index, ordering: .relaxed)
        value = try await closures[index](value)
      }
      return (.success(value), decide())
    } catch {
      return (.failure(error), decide())
    }
  }

  private func decide() -> Bool { !isDecided.exchange(true, ordering: .acquiringAndReleasing) }
}

private struct HandTimeout: Error {
  let step: Int
}

/// A chain that `then` leaves as it is: an actor, as asked for, at the end of a path that it shares with other chains.
///
/// Each step has types of its own, so their values are passed on without them. Its runs end at `cancelRuns`, with the
/// token of all chains that share the path, and with their task.
actor HandPath<Input: Sendable, Output: Sendable> {
  private let node: HandNode
  private let count: Int
  private let token: HandGeneration
  private let prepared = Mutex<(nodes: [HandNode], generation: HandGeneration)?>(nil)

  // Inlined, as the closure that captures the step would be allocated otherwise.
  @inline(__always)
  init(_ step: @escaping @Sendable (Input) async throws -> Output) {
    (node, count, token) = (HandNode(after: nil) { try await step(cast($0)) }, 1, HandGeneration())
  }

  private init<Last>(_ step: @escaping @Sendable (Last) async throws -> Output, after path: HandPath<Input, Last>) {
    node = HandNode(after: path.node) { try await step(cast($0)) }
    (count, token) = (path.count + 1, path.token)
  }

  nonisolated func then<Next>(_ step: @escaping @Sendable (Output) async throws -> Next) -> HandPath<Input, Next> {
    HandPath<Input, Next>(step, after: self)
  }

  nonisolated func cancelRuns() {
    prepared.withLock { exchange(&$0, with: nil) }?.generation.isCancelled.store(true, ordering: .releasing)
  }

  @concurrent nonisolated func run(_ input: Input) async throws -> Output {
    let (nodes, generation) = prepare()
    return try await HandPathRun.$current.withValue(HandPathRun(generation)) {
      var value: any Sendable = input
      for node in nodes {
        if Task.isCancelled || generation.isCancelled.load(ordering: .acquiring) { throw CancellationError() }
        if token.isCancelled.load(ordering: .acquiring) { throw CancellationError() }
        value = try await node.step(value)
      }
      return cast(value)
    }
  }

  private nonisolated func prepare() -> (nodes: [HandNode], generation: HandGeneration) {
    prepared.withLock { prepared in
      if let prepared { return prepared }
      var nodes: [HandNode] = []
      nodes.reserveCapacity(count)
      for node in sequence(first: node, next: \.parent) { nodes.append(node) }
      nodes.reverse()
      let new = (nodes, HandGeneration())
      prepared = new
      return new
    }
  }
}

private final class HandNode: Sendable {
  typealias Step = @Sendable (any Sendable) async throws -> any Sendable

  let parent: HandNode?
  let step: Step

  init(after parent: HandNode?, _ step: @escaping Step) { (self.step, self.parent) = (step, parent) }
}

/// What the code of a run knows of it.
private final class HandPathRun: Sendable {
  @TaskLocal static var current: HandPathRun?
  let generation: HandGeneration

  init(_ generation: HandGeneration) { self.generation = generation }
}

private func cast<Value>(_ value: any Sendable) -> Value {
  guard let value = value as? Value else { preconditionFailure("\(Value.self) was expected, not \(value)") }
  return value
}
