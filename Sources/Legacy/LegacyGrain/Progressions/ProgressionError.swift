// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error that ends a progression.
@available(*, deprecated, message: "Use CancellationError, and ProgressionError of Stepwise")
public enum ProgressionError: Error, Equatable {
  /// The progress closure returned false.
  @available(*, deprecated, message: "Leave the loop over `stages`; a cancelled run throws CancellationError")
  case cancelled

  /// The progression has neither a `next()` nor an `updateOrDeferNext()` of its own.
  @available(*, deprecated, message: "next() of Progression of Stepwise has no default")
  case notImplemented(type: String)
}
