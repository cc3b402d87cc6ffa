// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The progress of a run.
public struct ChainProgress: Hashable, Sendable {
  /// The completed fraction, from 0 to 1.
  ///
  /// It never decreases, and is 1 when the run has completed with a value.
  public let fractionCompleted: Double

  /// The step that started last: its name, or its position.
  public let step: String
}
