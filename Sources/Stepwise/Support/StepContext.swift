// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The destination for reports of a running step, when the run may be observed.
package protocol StepReporting: Sendable {
  /// Reports the completed fraction of the step, from 0 to 1.
  func report(_ fraction: Double)

  /// Reports that the step is about to be retried; `attempt` counts the first attempt.
  func retrying(attempt: Int, after error: any Error)

  /// Returns a destination for work that the step may abandon; it ignores what that work reports afterwards.
  func reporting(while isOpen: @escaping @Sendable () -> Bool) -> any StepReporting
}

/// Provides the destination for reports to code inside a step.
package enum StepContext {
  @TaskLocal package static var current: (any StepReporting)?

  /// Whether there is one; the value itself would take memory in the frame of each function that asks.
  @inline(never)
  static var isSet: Bool { current != nil }
}
