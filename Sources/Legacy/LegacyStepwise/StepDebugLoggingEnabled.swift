// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Whether every chain prints a line when a step begins, and one when it ends.
@available(*, deprecated, message: "Read `run.events` of the Run that start returns")
public var StepDebugLoggingEnabled: Bool {
  get { DebugLog.isEnabled.value }
  set { DebugLog.isEnabled.value = newValue }
}
