// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Reports the progress of the running step, from anywhere in its code.
///
/// Call ``report(_:)`` in a long step, and your progress bar moves within that step.
public enum StepProgress: Sendable {
  /// Reports the progress of the calling step to the observers of the run.
  ///
  /// Outside of a run, and in a run that is not observed, this has no effect. On threads that task-local values do not
  /// reach, call `Resolver.report` instead. The fraction is clamped to the range from 0 to 1.
  public static func report(_ fraction: Double) {
    Scope.current.recordedStep?.report(fraction)
  }
}
