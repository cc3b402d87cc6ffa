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
/// Its runs end at `cancelRuns`, with the token of all chains that share the path, and with their task.
actor HandPath {
  private final class Node: Sendable {
    let parent: Node?
    let step: AsyncClosure

    init(_ step: @escaping AsyncClosure, after parent: Node?) { (self.step, self.parent) = (step, parent) }
  }

  /// What the code of a run knows of it.
  private final class Plain: Sendable {
    @TaskLocal static var current: Plain?
    let generation: HandGeneration

    init(_ generation: HandGeneration) { self.generation = generation }
  }

  private let node: Node
  private let count: Int
  private let token: HandGeneration
  private let prepared = Mutex<(nodes: [Node], generation: HandGeneration)?>(nil)

  init(_ step: @escaping AsyncClosure) { (node, count, token) = (Node(step, after: nil), 1, HandGeneration()) }

  private init(_ step: @escaping AsyncClosure, after path: HandPath) {
    (node, count, token) = (Node(step, after: path.node), path.count + 1, path.token)
  }

  nonisolated func then(_ step: @escaping AsyncClosure) -> HandPath { HandPath(step, after: self) }

  nonisolated func cancelRuns() {
    prepared.withLock { exchange(&$0, with: nil) }?.generation.isCancelled.store(true, ordering: .releasing)
  }

  @concurrent nonisolated func run(_ input: Int) async throws -> Int {
    let (nodes, generation) = prepare()
    return try await Plain.$current.withValue(Plain(generation)) {
      var value = input
      for node in nodes {
        if Task.isCancelled || generation.isCancelled.load(ordering: .acquiring) { throw CancellationError() }
        if token.isCancelled.load(ordering: .acquiring) { throw CancellationError() }
        value = try await node.step(value)
      }
      return value
    }
  }

  private nonisolated func prepare() -> (nodes: [Node], generation: HandGeneration) {
    prepared.withLock { prepared in
      if let prepared { return prepared }
      var nodes: [Node] = []
      nodes.reserveCapacity(count)
      for node in sequence(first: node, next: \.parent) { nodes.append(node) }
      nodes.reverse()
      let new = (nodes, HandGeneration())
      prepared = new
      return new
    }
  }
}
