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

/// The stages of a progression that runs under an id, each of which is saved before it is returned.
///
/// Use it to show progress while your run is saved. The run never gets ahead of the consumer: requesting the next
/// element runs the stage that was returned last, and saves the following one. The first element is the stage stored
/// under the id, or else the first stage of the progression. The iterator acquires the id with the first element. It
/// releases the id after the last stage, after an error, or when the loop is left. Cancellation is checked before each
/// stage and thrown as `CancellationError`.
///
/// - Warning: In the top-level code of `main.swift`, `break` does not free the id before the process ends: variables
///   there are globals, and the compiler never releases the iterator of such a loop. Put the loop in a function.
public struct CheckpointedStages<P: Progression & Codable>: AsyncSequence, Sendable {
  /// A stage.
  public typealias Element = P
  /// The error of a stage, a ``CheckpointError``, or an error of the store.
  public typealias Failure = any Error

  private let run: CheckpointedRun<P>

  init(_ run: CheckpointedRun<P>) {
    self.run = run
  }

  /// Creates an iterator; each iterator is a separate run.
  public func makeAsyncIterator() -> Iterator { Iterator(state: .idle(run)) }

  /// An iterator that runs one stage after the other.
  ///
  /// Releasing it releases the id.
  public struct Iterator: AsyncIteratorProtocol {
    enum State {
      /// No element was requested.
      case idle(CheckpointedRun<P>)
      /// This stage was returned.
      case seen(CheckpointedRun<P>, CheckpointedRun<P>.Position)
      /// There is no further stage.
      case ended
    }

    fileprivate var state: State

    /// Runs the stage that was returned last, off the caller's actor, and saves and returns the next one.
    ///
    /// - Parameter actor: The caller's actor.
    /// - Returns: The stage; nil after the last one.
    /// - Throws: The error of the stage, a ``CheckpointError``, or an error of the store. No elements follow an error.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> P? {
      let (run, reached): (CheckpointedRun<P>, CheckpointedRun<P>.Position)
      switch state {
      case .idle(let idle):
        state = .ended
        (run, reached) = (idle, try await idle.begin())
      case .seen(_, let position) where position.stage.result != nil:
        state = .ended
        return nil
      case .seen(let seen, let position):
        state = .ended
        (run, reached) = (seen, try await seen.advance(from: position))
      case .ended:
        return nil
      }
      state = .seen(run, reached)
      return reached.stage
    }
  }
}

/// An iterator is not shared between tasks.
@available(*, unavailable)
extension CheckpointedStages.Iterator: Sendable {}
