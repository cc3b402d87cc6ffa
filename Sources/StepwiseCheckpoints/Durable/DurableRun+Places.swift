// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

// MARK: - Places

extension DurableRun {
  func open(_ name: String) -> JournalKey { JournalKey(position.open(name)) }

  nonisolated(nonsending) func inside<Value>(
    _ place: JournalKey?,
    branch: Int?,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    // All code of the run: where it runs when nothing else is said.
    guard place != nil || branch != nil else {
      return try await onExecutorUnlessIsolated(executor ?? globalConcurrentExecutor) {
        // While it is still there: what follows on the executor finds it ended in each process.
        defer { endCode() }
        return try await body()
      }
    }
    let outer = position
    let isBody = outer.isBody || place?.isBody ?? false
    // What is inside of a step has keys, and is not stored: its attempts do not count.
    let attempt = isBody || branch != nil ? 1 : place?.beginAttempt() ?? 1
    let scope = DurableLog.scope(place?.path ?? outer.scope, attempt: attempt, branch: branch)
    let position = DurablePosition(self, scope: scope, step: isBody ? scope : nil, isBody: isBody)
    let value = try await RunCode.$current.bind(isBody ? nil : RunCode(of: self)) {
      try await DurablePosition.$current.bind(position, body)
    }
    position.returned()
    if !isBody { try throwIfInterrupted() }
    return value
  }
}
