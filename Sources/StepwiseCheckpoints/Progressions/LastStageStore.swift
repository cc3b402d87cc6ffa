// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A store that records with the last stage of a progression that the progression is done.
package protocol LastStageStore: CheckpointStore {
  /// Saves as `save(_:ifVersionIs:under:)` does the stage that has the result.
  @concurrent func saveLast(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws
}
