// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Runs work that the cancellation of the calling task does not reach, and waits for it.
///
/// The work inherits the caller's priority, task-local values and executor preference. It runs off the caller's actor.
package nonisolated(nonsending) func shielded<Success: Sendable>(
  _ operation: @escaping @Sendable () async -> Success
) async -> Success {
  #if compiler(>=6.4) && !canImport(Darwin)
    await withTaskCancellationShield { await operation() }
  #else
    await spawn(operation).value
  #endif
}
