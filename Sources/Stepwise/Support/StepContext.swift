// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Where a running step reports to, when somebody may be looking.
package protocol StepReporting: Sendable {
  /// The step has come so far, from 0 to 1.
  func report(_ fraction: Double)

  /// The step is about to be tried again; `attempt` counts the first one.
  func retrying(attempt: Int)

  /// The same step, for work that it may abandon: what that reports from then on is ignored.
  func reporting(while isOpen: @escaping @Sendable () -> Bool) -> any StepReporting
}

/// Tells the code inside a step to whom to report.
package enum StepContext {
  @TaskLocal package static var current: (any StepReporting)?
}
