// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

extension Progression where Self: Codable {
  /// Runs to the result, saving each stage, and goes on from the last saved stage if the store holds one under the id.
  ///
  /// This stage is where it begins when the store holds nothing under the id. A stage is saved before it runs: a crash
  /// repeats at most the stage that was in progress. A stage that cannot be stored and read again is not saved: one with
  /// `Decimal.nan`, for instance, or one nested more than 500 levels deep in JSON; the run ends with
  /// ``CheckpointError/unencodable(id:location:reason:)``. When the store holds the last stage, nothing runs, and its result is
  /// returned, also out of a directory that may only be read; it is kept until `store.remove(id)`.
  ///
  /// Cancellation is noticed before each stage and thrown as `CancellationError`; what is saved stays. The stages run
  /// off the caller's actor. The id is free again when this returns or throws.
  ///
  /// - Parameters:
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: Where the stages are kept.
  /// - Returns: The result of the last stage.
  /// - Throws: What a stage throws, as it is; ``CheckpointError`` when somebody else runs under the id, or what is stored
  ///   cannot be gone on from; what the store throws.
  @concurrent
  public func run(id: String, in store: some CheckpointStore) async throws -> Result {
    try await CheckpointedRun(self, id: id, store: store, watch: StuckWatch()).result()
  }

  /// Runs to the result as `run(id:in:)` does, with another limit for a stage that returns itself unchanged.
  ///
  /// - Parameters:
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: Where the stages are kept.
  ///   - limit: After how many times in a row that a stage returned itself unchanged `ProgressionError.stuck` is thrown;
  ///     nil for never. Without it, 10,000 times for stages that are `Equatable`, and never for others.
  /// - Returns: The result of the last stage.
  /// - Throws: What `run(id:in:)` throws.
  @concurrent
  public func run(id: String, in store: some CheckpointStore, stuckAfter limit: Int?) async throws -> Result {
    try await CheckpointedRun(self, id: id, store: store, watch: StuckWatch(limit: limit)).result()
  }

  /// The stages, each saved before it is seen, from the last saved one on if the store holds one under the id.
  ///
  /// A `break` frees the id, except in the top-level code of `main.swift`, where the compiler never releases the iterator:
  /// put the loop in a function there.
  ///
  /// - Parameters:
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: Where the stages are kept.
  /// - Returns: The stages; nothing happens before the first is asked for.
  public func stages(id: String, in store: some CheckpointStore) -> CheckpointedStages<Self> {
    CheckpointedStages(CheckpointedRun(self, id: id, store: store, watch: StuckWatch()))
  }

  /// The stages as `stages(id:in:)` gives them, with another limit for a stage that returns itself unchanged.
  ///
  /// - Parameters:
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: Where the stages are kept.
  ///   - limit: After how many times in a row that a stage returned itself unchanged `ProgressionError.stuck` is thrown;
  ///     nil for never.
  /// - Returns: The stages; nothing happens before the first is asked for.
  public func stages(
    id: String,
    in store: some CheckpointStore,
    stuckAfter limit: Int?
  ) -> CheckpointedStages<Self> {
    CheckpointedStages(CheckpointedRun(self, id: id, store: store, watch: StuckWatch(limit: limit)))
  }

  /// The stages as `stages(id:in:)` returns them, with a lease that is renewed by another clock.
  package func stages(
    id: String,
    in store: some CheckpointStore,
    leaseClock: some Clock<Duration>
  ) -> CheckpointedStages<Self> {
    CheckpointedStages(
      CheckpointedRun(self, id: id, store: store, watch: StuckWatch(), clock: LeaseClock(leaseClock))
    )
  }
}
