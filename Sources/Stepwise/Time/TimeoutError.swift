// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A step, or the steps that a timeout covers, took longer than allowed.
public struct TimeoutError: Error, CustomStringConvertible {
  /// The step that was running: its name, or its place in the chain when it has none.
  public let step: String

  /// How long it was allowed to take.
  public let duration: Duration

  /// What the step threw when it was cancelled for its time, unless that was a `CancellationError`.
  public let underlyingError: (any Error)?

  init(step: String, duration: Duration, underlyingError: (any Error)? = nil) {
    self.step = step
    self.duration = duration
    self.underlyingError = underlyingError is CancellationError ? nil : underlyingError
  }

  /// The step, its limit, and what it threw when its time was up.
  public var description: String {
    let cause = underlyingError.map { ": \($0)" } ?? ""
    return "\(step) did not end within \(duration)\(cause)"
  }
}
