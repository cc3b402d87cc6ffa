// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// The stages of a progression that runs under an id, each of which is saved before it is returned.
///
/// The run never gets ahead of the consumer: requesting the next element runs the stage that was returned last, and
/// saves the following one. The first element is the stage stored under the id, or else the first stage of the
/// progression. The iterator acquires the id with the first element. It releases the id after the last stage, after an
/// error, or when the loop is left. Cancellation is checked before each stage and thrown as `CancellationError`.
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
