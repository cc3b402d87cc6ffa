// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs an operation on an executor, and comes back from it.
///
/// A preference alone moves nobody: code that keeps its caller's isolation stays where it is until something switches.
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

/// Something to do on the executor: the compiler leaves out a switch after which only asynchronous calls follow.
private func arrive() {
  _ = Task.isCancelled
}
