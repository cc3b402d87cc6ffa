// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Starts a task.
///
/// Every unstructured task of this package is created here.
///
/// It inherits the name, the priority, the task-local values and the executor preference of the calling task; `Task {
/// }` inherits only priority and task-local values. Before macOS 26.4 and its companions the runtime does not expose
/// the preference, so it is not inherited there.
///
/// - Parameters:
///   - name: The new task's name; that of the calling task when nil.
///   - priority: The new task's priority; that of the calling task when nil.
///   - operation: The work, in its own isolation.
/// - Returns: The task, which is already scheduled.
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
