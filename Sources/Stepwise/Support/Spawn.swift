// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Starts a Task: every unstructured one of this package is made here.
///
/// It carries on the name, the priority, the task-locals and the executor preference of the Task that calls, of which
/// `Task { }` by itself passes on only priority and task-locals. Below macOS 26.4 and its companions the runtime does not
/// say what the preference is, and it is not passed on.
///
/// - Parameters:
///   - name: the new Task's name; that of the calling Task when nil.
///   - priority: the new Task's priority; that of the calling Task when nil.
///   - operation: the work, in its own isolation.
/// - Returns: the Task, which has begun or will begin by itself.
package func spawn<Success: Sendable>(
  name: String? = nil,
  priority: TaskPriority? = nil,
  @_inheritActorContext _ operation: sending @escaping @isolated(any) () async -> Success
) -> Task<Success, Never> {
  guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else {
    return Task(priority: priority, operation: operation)
  }
  var name = name
  var executor: (any TaskExecutor)?
  withUnsafeCurrentTask { task in
    guard let task else { return }
    if name == nil { name = Task.name }
    if let preferred = task.unownedTaskExecutor { executor = preferred.asTaskExecutor() }
  }
  guard let executor else {
    return Task(name: name, priority: priority, operation: operation)
  }
  return Task(name: name, executorPreference: executor, priority: priority) { await operation() }
}
