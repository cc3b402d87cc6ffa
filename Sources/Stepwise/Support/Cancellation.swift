// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Why something was cancelled, and what it threw when it was.
public struct Cancellation: Sendable {
  /// The reason that was passed to `cancel`; nil for plain task cancellation.
  public var reason: String?

  /// What the interrupted work threw, unless that was a `CancellationError`.
  public var underlyingError: (any Error)?

  /// Creates a description of a cancellation.
  public init(reason: String? = nil, underlyingError: (any Error)? = nil) {
    self.reason = reason
    self.underlyingError = underlyingError
  }
}

extension Cancellation: CustomStringConvertible {
  /// That it was cancelled, the reason, and the error of the interrupted work: "cancelled: left the screen".
  public var description: String {
    let reason = reason.map { ": \($0)" } ?? ""
    let error = underlyingError.map { " (interrupted: \($0))" } ?? ""
    return "cancelled\(reason)\(error)"
  }
}
