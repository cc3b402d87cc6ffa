// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Reports how far the running step is.
public enum StepProgress: Sendable {
  /// Tells those who look at the run how far the step that calls is.
  ///
  /// In a run that nobody can look at, and outside of a run, this does nothing. Code on foreign threads, where task-locals
  /// do not reach, calls `Resolver.report` instead.
  ///
  /// - Parameter fraction: From 0 to 1; values outside are moved to the nearest.
  public static func report(_ fraction: Double) {
    StepContext.current?.report(fraction)
  }
}

/// One step of one run, as the code inside the step sees it.
struct RecordedStep: StepReporting {
  let recorder: RunRecorder
  let index: Int

  func report(_ fraction: Double) { recorder.report(index, fraction) }
  func retrying(attempt: Int) { recorder.retrying(index, attempt: attempt) }
  func reporting(while isOpen: @escaping @Sendable () -> Bool) -> any StepReporting {
    RecordedStep(recorder: recorder.recording(while: isOpen), index: index)
  }
}
