// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Starts a task.
///
/// Every unstructured task of this package is created here.
///
/// It inherits the name, the priority, the task-local values and the executor preference of the calling task; `Task {
/// }` inherits only priority and task-local values. Before macOS 26.4 and its companions the runtime does not expose
/// the preference, so that only the executor of `onExecutor` is inherited there, and not the name.
package func spawn<Success: Sendable>(
  priority: TaskPriority? = nil,
  @_inheritActorContext _ operation: sending @escaping @isolated(any) () async -> Success
) -> Task<Success, Never> {
  guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else {
    return Task(executorPreference: ChosenExecutor.current, priority: priority) { await operation() }
  }
  guard let executor = preferredExecutor() else {
    return Task(name: Task.name, priority: priority, operation: operation)
  }
  return Task(name: Task.name, executorPreference: executor, priority: priority) { await operation() }
}

/// Starts a task that may throw, in the same way.
///
/// It costs one allocation less, even when nothing throws: the runtime's tasks throw, and the closure of one that does
/// not is wrapped.
func spawn<Success: Sendable>(
  priority: TaskPriority? = nil,
  @_inheritActorContext _ operation: sending @escaping @isolated(any) () async throws -> Success
) -> Task<Success, any Error> {
  guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else {
    return Task(executorPreference: ChosenExecutor.current, priority: priority) { try await operation() }
  }
  guard let executor = preferredExecutor() else {
    return Task(name: Task.name, priority: priority, operation: operation)
  }
  return Task(name: Task.name, executorPreference: executor, priority: priority) { try await operation() }
}

/// Starts a task on an executor; it inherits priority and task-local values.
package func spawn<Success: Sendable>(
  on executor: any TaskExecutor,
  _ operation: @escaping @Sendable () async -> Success
) -> Task<Success, Never> {
  Task(executorPreference: executor) { await operation() }
}

/// Starts a task that inherits nothing, for an executor that borrows the threads of another one.
package func detach(on executor: any TaskExecutor, _ operation: @escaping @Sendable () -> Void) {
  Task.detached(executorPreference: executor) { operation() }
}

/// The executor that the calling task prefers; the global one when it has no preference, or where the runtime does not
/// expose it.
package var currentExecutor: any TaskExecutor {
  guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else {
    return globalConcurrentExecutor
  }
  return preferredExecutor() ?? globalConcurrentExecutor
}

@available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *)
private func preferredExecutor() -> (any TaskExecutor)? {
  withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
}

/// Runs work that the cancellation of the calling task does not reach, and waits for it.
///
/// The work inherits the caller's priority, task-local values and executor preference. It runs off the caller's actor.
package func shielded<Success: Sendable>(
  _ operation: @concurrent @escaping @Sendable () async -> Success
) async -> Success {
  #if compiler(>=6.4) && !canImport(Darwin)
    await withTaskCancellationShield { await operation() }
  #else
    await spawn(operation).value
  #endif
}

/// Waits for what a task brings about; the task has at least the priority of the waiting one.
func raisingPriority<Success, Failure: Error, Value: Sendable>(
  of task: Task<Success, Failure>,
  _ end: () async -> Value
) async -> Value {
  guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return await end() }
  return await withTaskPriorityEscalationHandler {
    // An escalation may have occurred before the handler was registered.
    task.escalatePriority(to: Task.currentPriority)
    return await end()
  } onPriorityEscalated: { _, priority in
    // In a task: what waits for each other thousands deep would exhaust the stack.
    _ = spawn(priority: priority) { task.escalatePriority(to: priority) }
  }
}

/// Runs an operation on an executor and returns to the caller's.
///
/// A preference alone does not switch executors: code that keeps its caller's isolation stays where it is until a
/// switch occurs.
func onExecutor<Value>(
  _ executor: any TaskExecutor,
  _ operation: () async throws -> Value
) async throws -> Value {
  let result = await Result.of {
    try await withTaskExecutorPreference(executor) {
      if #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) {
        return try await onPreferredExecutor(operation)
      }
      return try await ChosenExecutor.$current.withValue(executor) { try await onPreferredExecutor(operation) }
    }
  }
  await moveToPreferredExecutor()
  return try result.get()
}

/// Runs an operation that may be isolated to the caller's actor: there, but what it calls runs on the executor.
package func onExecutorUnlessIsolated<Value>(
  _ executor: any TaskExecutor,
  isolation: isolated (any Actor)? = #isolation,
  _ operation: () async throws -> Value
) async throws -> Value {
  guard isolation != nil else { return try await onExecutor(executor, operation) }
  return try await withTaskExecutorPreference(
    executor,
    isolation: isolation,
    operation: {
      _ = isolation
      if #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) { return try await operation() }
      return try await ChosenExecutor.$current.bind(executor, operation)
    }
  )
}

/// The executor of `onExecutor`, where the runtime does not expose the preference of a task.
private enum ChosenExecutor {
  @TaskLocal static var current: (any TaskExecutor)?
}

@concurrent
private func onPreferredExecutor<Value>(
  _ operation: () async throws -> Value
) async throws -> Value {
  arrive()
  return try await operation()
}

@concurrent
package func moveToPreferredExecutor() async { arrive() }

/// Does some work on the executor: the compiler removes a switch that only asynchronous calls follow.
private func arrive() { _ = Task.isCancelled }

extension TaskLocal {
  /// Binds a value while a body runs, in the isolation of the caller.
  // The operation of `withValue` runs on no actor unless it is isolated where it is written: a body that was passed to it
  // directly would leave the caller's actor.
  package func bind<Result>(
    _ value: Value,
    isolation: isolated (any Actor)? = #isolation,
    _ body: () async throws -> Result
  ) async rethrows -> Result {
    try await withValue(
      value,
      operation: {
        _ = isolation
        return try await body()
      },
      isolation: isolation
    )
  }
}
