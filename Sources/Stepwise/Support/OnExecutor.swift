// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs an operation on an executor and returns to the caller's.
///
/// A preference alone does not switch executors: code that keeps its caller's isolation stays where it is until a
/// switch occurs.
nonisolated(nonsending) func onExecutor<Value>(
  _ executor: any TaskExecutor,
  _ operation: nonisolated(nonsending) () async throws -> Value
) async throws -> Value {
  let result: Result<Value, any Error>
  do {
    result = .success(try await withTaskExecutorPreference(executor) { try await onPreferredExecutor(operation) })
  } catch {
    result = .failure(error)
  }
  await moveToPreferredExecutor()
  return try result.get()
}

@concurrent
private func onPreferredExecutor<Value>(
  _ operation: nonisolated(nonsending) () async throws -> Value
) async throws -> Value {
  arrive()
  return try await operation()
}

@concurrent
private func moveToPreferredExecutor() async {
  arrive()
}

/// Does some work on the executor: the compiler removes a switch that only asynchronous calls follow.
private func arrive() {
  _ = Task.isCancelled
}
