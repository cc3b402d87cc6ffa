// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How far a run is.
public struct ChainProgress: Hashable, Sendable {
  /// From 0 to 1; it never goes back, and is 1 when the run has ended with a value.
  public let fractionCompleted: Double

  /// The step that began last: its name, or its place when it has none.
  public let step: String
}
