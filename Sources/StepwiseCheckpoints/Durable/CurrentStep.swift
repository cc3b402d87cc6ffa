// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFiles

/// Identifies the running step of a durable run to services that accept an idempotency key.
public enum CurrentStep: Sendable {
  /// A key for services that perform a request with the same key only once; nil outside of durable runs.
  ///
  /// The key is opaque ASCII of at most 200 bytes. It stays the same when the step is repeated after a crash or retried.
  /// It is different in a run that is started again after `remove`, and in the undo of the step.
  public static var idempotencyKey: String? {
    guard let position = DurablePosition.current, let step = position.step else { return nil }
    return position.run.identity + (position.isUndo ? "-undo-" : "-") + SHA256.hex(Array(step.utf8))
  }
}

/// Identifies the version of a durable run, for code that has changed since the run was started.
public enum CurrentRun: Sendable {
  /// The version that the run was started with; `Int.max` outside of durable runs, which run your newest code.
  ///
  /// Use it to change the steps of a chain while runs of older versions are unfinished:
  ///
  /// ```swift
  /// if CurrentRun.version >= 2 { try await step("check fraud") { try await checkFraud(cart) } }
  /// ```
  public static var version: Int { DurablePosition.current?.run.version ?? .max }
}

/// Waits as a step.
///
/// In a durable run the end of the wait is stored as wall-clock time. After a crash the run waits for the rest, and
/// never longer than the duration, whatever has happened to the clock of the system. Elsewhere this waits for the
/// duration.
///
/// - Parameters:
///   - name: The name of the step in errors, events and traces.
///   - duration: The length of the wait.
///   - clock: The clock that measures the wait.
/// - Throws: `CancellationError` when the run is cancelled or stopped.
public nonisolated(nonsending) func step(
  _ name: String,
  sleep duration: Duration,
  clock: any Clock<Duration> = ContinuousClock()
) async throws {
  try await step(name) {
    guard let position = DurablePosition.current, position.run.isCurrent, let step = position.step else {
      return try await clock.sleep(for: duration.clamped)
    }
    try await position.run.sleep(duration, by: clock, at: step)
  }
}
