// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

extension Progression where Self: Codable {
  /// Runs to the result and saves each stage; resumes from the last saved stage if the store holds one under the id.
  ///
  /// When the store holds no record under the id, the run starts at this stage. A stage is saved before it runs, so a
  /// crash repeats at most the stage in progress. A stage that cannot be encoded and decoded is not saved, such as one
  /// with `Decimal.nan` or one nested more than 500 levels deep in JSON, nor is an `Equatable` stage whose decoded copy
  /// is not equal, such as one with a relative URL. The run then ends with
  /// ``CheckpointError/unencodable(id:location:reason:)``. When the store holds the last stage, no stage runs and its
  /// result is returned, even from a read-only directory. The record is kept until `store.remove(id)`.
  ///
  /// Cancellation is checked before each stage and thrown as `CancellationError`; saved stages stay. The stages run off
  /// the caller's actor. The id is released when this method returns or throws.
  ///
  /// - Parameters:
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: The store for the stages.
  /// - Returns: The result of the last stage.
  /// - Throws: The error of a stage, unchanged; ``CheckpointError`` when another run holds the id, or when the stored
  ///   stage cannot be resumed; an error of the store.
  @concurrent
  public func run(id: String, in store: some CheckpointStore) async throws -> Result {
    try await CheckpointedRun(self, id: id, store: store).result()
  }

  /// Returns the stages from the last saved one, or from this one, each saved before it is returned.
  ///
  /// A `break` releases the id, except in the top-level code of `main.swift`, where the compiler never releases the
  /// iterator: put the loop in a function there.
  ///
  /// - Parameters:
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: The store for the stages.
  /// - Returns: The stages. Nothing happens before the first element is requested.
  public func stages(id: String, in store: some CheckpointStore) -> CheckpointedStages<Self> {
    CheckpointedStages(CheckpointedRun(self, id: id, store: store))
  }

  /// Returns the stages like `stages(id:in:)`, with a lease that is renewed by another clock.
  package func stages(
    id: String,
    in store: some CheckpointStore,
    leaseClock: some Clock<Duration>
  ) -> CheckpointedStages<Self> {
    CheckpointedStages(CheckpointedRun(self, id: id, store: store, clock: LeaseClock(leaseClock)))
  }
}
