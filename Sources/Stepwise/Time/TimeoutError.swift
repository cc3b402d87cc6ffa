// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error thrown when a step, or the steps that a timeout covers, exceed their time limit.
public struct TimeoutError: Error, CustomStringConvertible {
  /// The running step: its name, or its position in the chain.
  public let step: String

  /// The time limit.
  public let duration: Duration

  /// The error that the cancelled step threw, unless it was a `CancellationError`.
  public let underlyingError: (any Error)?

  init(step: String, duration: Duration, underlyingError: (any Error)? = nil) {
    self.step = step
    self.duration = duration
    self.underlyingError = underlyingError is CancellationError ? nil : underlyingError
  }

  /// The step, its time limit, and the error that it threw.
  public var description: String {
    let cause = underlyingError.map { ": \($0)" } ?? ""
    return "\(step) did not end within \(duration.spoken)\(cause)"
  }
}

extension Duration {
  /// The duration as error texts say it: "1 second", "0.2 seconds", where `description` is "1.0 seconds".
  package var spoken: String {
    if self == .seconds(1) { return "1 second" }
    // The components of a duration of more than `Int64.max` seconds trap.
    guard self == clamped else { return description }
    return components.attoseconds == 0 ? "\(components.seconds) seconds" : description
  }
}
