// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// What the blocks of one launch find without being given it: the arguments, and in the background what sends updates.
struct TaskScope: Sendable {
  @TaskLocal static var current: TaskScope?

  private static let running = Lock<[ObjectIdentifier: TaskScope]>([:])

  let args: TaskArgs
  var context: JobContext<TaskValue>?
  /// What cancels the blocking work of the task.
  var coordinator: IOCoordinator?

  /// The scope of the block that the caller is in; on a queue that a block has used, that of the only running task.
  static var reachable: TaskScope? {
    current ?? running.withLock { $0.count == 1 ? $0.values.first : nil }
  }

  /// Runs the work of a task in a scope, whose coordinator is cancelled with it.
  static func run<Value>(
    _ scope: TaskScope,
    _ body: nonisolated(nonsending) (TaskScope) async throws -> Value
  ) async throws -> Value {
    let coordinator = IOCoordinator()
    var scope = scope
    scope.coordinator = coordinator
    let id = ObjectIdentifier(coordinator)
    running.withLock { [scope] in $0[id] = scope }
    defer { _ = running.withLock { $0.removeValue(forKey: id) } }
    return try await withTaskCancellationHandler {
      try await $current.withValue(scope) { try await body(scope) }
    } onCancel: {
      coordinator.stop()
    }
  }
}
