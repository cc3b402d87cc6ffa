// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// A task that the library creates within a run and that the run awaits: a branch, work with a time limit, a shield.
///
/// Code in such a task waits on behalf of the run. Code in a task that a step creates does not, because the run may not
/// await that task.
package final class AwaitedTask: Sendable {
  private let parent: AwaitedTask?
  private let isOver = Atomic(false)
  private let begun = Atomic(0)

  private init(parent: AwaitedTask?) {
    self.parent = parent
  }

  /// Returns an object for a task that the current task is about to create; nil when the current task is not part of a
  /// run.
  package static func make() -> AwaitedTask? {
    guard let scope = CancellationScope.current, scope.isOfThisTask else { return nil }
    return AwaitedTask(parent: scope.awaitedTask)
  }

  /// Whether the run still awaits the task.
  package var isAwaited: Bool {
    var task: AwaitedTask? = self
    while let current = task {
      if current.isOver.load(ordering: .acquiring) { return false }
      task = current.parent
    }
    return true
  }

  /// The identifier of the task; 0 before it has started.
  package var task: Int { begun.load(ordering: .acquiring) }

  /// Called by the task.
  package func begin() { begun.store(Platform.currentTask, ordering: .releasing) }

  /// Marks the task as no longer awaited by the run.
  package func end() { isOver.store(true, ordering: .releasing) }
}

extension Optional where Wrapped == AwaitedTask {
  /// Runs the operation; called by the task.
  package nonisolated(nonsending) func run<Value>(
    _ operation: nonisolated(nonsending) () async throws -> Value
  ) async rethrows -> Value {
    guard let self, let scope = CancellationScope.current else { return try await operation() }
    defer { self.end() }
    return try await CancellationScope.$current.withValue(scope.inThisTask(self)) { try await operation() }
  }
}
