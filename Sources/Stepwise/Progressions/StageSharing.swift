// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How several consumers share one run of a progression; see ``Stages/shared(_:)``.
public struct StageSharing: Hashable, Sendable {
  enum Kind: Hashable {
    case everyStage
    case latest
  }

  let kind: Kind

  /// Every consumer receives every stage.
  ///
  /// The run works on the next stage when all consumers have requested it, so the slowest consumer paces the run.
  public static let everyStage = StageSharing(kind: .everyStage)

  /// Every consumer receives the newest stage.
  ///
  /// The run works on the next stage when any consumer requests it. Slower consumers skip superseded stages, but never
  /// the last one.
  public static let latest = StageSharing(kind: .latest)
}
