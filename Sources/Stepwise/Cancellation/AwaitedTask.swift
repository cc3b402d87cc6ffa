// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// A Task that the library makes within a run and that the run waits for: a branch, work with a time limit, a shield.
///
/// Code in such a Task waits on behalf of the run. Code in a Task that a step made does not: the run may not wait for it.
package final class AwaitedTask: Sendable {
  private let parent: AwaitedTask?
  private let isOver = Atomic(false)

  private init(parent: AwaitedTask?) {
    self.parent = parent
  }

  /// For a Task that the current Task is about to make; nil where the current Task is not one of a run.
  package static func make() -> AwaitedTask? {
    guard let scope = CancellationScope.current, scope.isOfThisTask else { return nil }
    return AwaitedTask(parent: scope.awaitedTask)
  }

  /// Whether the run still waits for the Task.
  package var isAwaited: Bool {
    var task: AwaitedTask? = self
    while let current = task {
      if current.isOver.load(ordering: .acquiring) { return false }
      task = current.parent
    }
    return true
  }

  /// From now on the run does not wait for the Task.
  package func end() { isOver.store(true, ordering: .releasing) }
}

extension Optional where Wrapped == AwaitedTask {
  /// Runs the operation of the Task, which calls this.
  package nonisolated(nonsending) func run<Value>(
    _ operation: nonisolated(nonsending) () async throws -> Value
  ) async rethrows -> Value {
    guard let self, let scope = CancellationScope.current else { return try await operation() }
    defer { self.end() }
    return try await CancellationScope.$current.withValue(scope.inThisTask(self)) { try await operation() }
  }
}
