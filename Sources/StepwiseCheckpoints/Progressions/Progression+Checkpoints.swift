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
    try await CheckpointedRun(self, id: id, in: store).result()
  }

  /// Returns the stages from the last saved one, or from this one, each saved before it is returned.
  ///
  /// Use it to show progress while your run is saved. The run never gets ahead of the consumer: requesting the next
  /// element runs the stage that was returned last, and saves the following one. The first element is the stage stored
  /// under the id, or else this stage. Each iterator is a separate run: it acquires the id with the first element, and
  /// releases the id after the last stage, after an error, or when the loop is left. The stages run off the caller's
  /// actor. Cancellation is checked before each stage and thrown as `CancellationError`.
  ///
  /// - Warning: In the top-level code of `main.swift`, `break` does not free the id before the process ends: variables
  ///   there are globals, and the compiler never releases the iterator of such a loop. Put the loop in a function.
  ///
  /// - Parameters:
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: The store for the stages.
  /// - Returns: The stages. Nothing happens before the first element is requested. It throws the error of a stage, a
  ///   ``CheckpointError``, or an error of the store; no elements follow an error.
  public func stages(id: String, in store: some CheckpointStore) -> some AsyncSequence<Self, any Error> & Sendable {
    stages(id: id, in: store, leaseClock: ContinuousClock())
  }

  /// Returns the stages like `stages(id:in:)`, with a lease that is renewed by another clock.
  package func stages(
    id: String,
    in store: some CheckpointStore,
    leaseClock: some Clock<Duration>
  ) -> some AsyncSequence<Self, any Error> & Sendable {
    var run = CheckpointedRun(self, id: id, in: store)
    run.clock = LeaseClock(leaseClock)
    return run
  }
}
