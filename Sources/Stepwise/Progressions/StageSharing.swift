// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How several consumers share one run of a progression; see ``Stages/shared(_:)``.
public struct StageSharing: Hashable, Sendable {
  enum Kind: Hashable {
    case everyStage
    case latest
  }

  let kind: Kind

  /// Every consumer is given every stage: the next one is worked on when all have asked for it, so that the slowest consumer
  /// paces the run.
  public static let everyStage = StageSharing(kind: .everyStage)

  /// Every consumer is given the newest stage: the next one is worked on when any consumer asks for it, and slower ones skip
  /// what was superseded meanwhile, but never the last stage.
  public static let latest = StageSharing(kind: .latest)
}
