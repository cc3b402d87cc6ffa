// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Reports the progress of the running step, from anywhere in its code.
///
/// Call ``report(_:)`` in a long step, and your progress bar moves within that step. Call ``expect(steps:)`` in code with
/// `step`, and it moves with each of them.
public enum StepProgress: Sendable {
  /// Reports the progress of the calling step to the observers of the run.
  ///
  /// Outside of a run, and in a run that is not observed, this has no effect. On threads that task-local values do not
  /// reach, call `Resolver.report` instead. The fraction is clamped to the range from 0 to 1.
  public static func report(_ fraction: Double) {
    Scope.current.recordedStep?.report(fraction)
  }

  /// Says how many steps the calling code performs with ``step(_:retry:if:clock:_:)``, so that each of them moves the
  /// progress bar.
  ///
  /// Call it at the start of a chain's closure, or of a step that has steps inside:
  ///
  /// ```swift
  /// StepProgress.expect(steps: files.count)
  /// for file in files { try await step(file) { try await load(file) } }
  /// ```
  ///
  /// Each step that ends advances the progress of the code around it by an equal share, and what it reports advances it
  /// within that share. You can call it again when you know better. More steps than expected, or a larger number, never
  /// move the progress back. Outside of a run, and in a run that is not observed, this has no effect.
  ///
  /// - Parameter count: The number of steps; those inside of these steps do not count.
  public static func expect(steps count: Int) {
    Scope.current.recordedStep?.expect(steps: count)
  }
}
