// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// The stages of a progression that runs under an id, each of which is saved before it is seen.
///
/// Nothing runs ahead of the consumer: asking for the next element runs the stage that was seen last, and saves the stage
/// it leads to. The first element is what the store holds under the id, or else the stage that the progression begins
/// with. The id is taken with the first element, and is free once the last stage was reached, an error was thrown, or the
/// loop was left. Cancellation is noticed before each stage and thrown as `CancellationError`.
///
/// - Warning: In the top-level code of `main.swift`, `break` does not free the id before the process ends: variables there
///   are globals, and the compiler never releases the iterator of such a loop. Put the loop in a function.
public struct CheckpointedStages<P: Progression & Codable>: AsyncSequence, Sendable {
  /// A stage.
  public typealias Element = P
  /// What a stage throws, or a ``CheckpointError``, or what the store throws.
  public typealias Failure = any Error

  private let run: CheckpointedRun<P>

  init(_ run: CheckpointedRun<P>) {
    self.run = run
  }

  /// Makes an iterator; each of them is a run of its own.
  public func makeAsyncIterator() -> Iterator { Iterator(state: .idle(run)) }

  /// Runs one stage after the other.
  ///
  /// Letting it go frees the id.
  public struct Iterator: AsyncIteratorProtocol {
    enum State {
      /// Nothing was asked for.
      case idle(CheckpointedRun<P>)
      /// This stage was seen.
      case seen(CheckpointedRun<P>, CheckpointedRun<P>.Position)
      /// There is no further stage.
      case ended
    }

    fileprivate var state: State

    /// Runs the stage that was seen last, and saves and gives the next one; nil after the last one.
    ///
    /// - Returns: The stage; nil after the last one.
    /// - Throws: What the stage throws, a ``CheckpointError``, or what the store throws; there are no elements after it.
    public mutating func next() async throws -> P? { try await next(isolation: #isolation) }

    /// Runs the stage that was seen last, off the caller's actor, and saves and gives the next one.
    ///
    /// - Parameter actor: The caller's actor.
    /// - Returns: The stage; nil after the last one.
    /// - Throws: What the stage throws, a ``CheckpointError``, or what the store throws; there are no elements after it.
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

/// An iterator belongs to the one who iterates.
@available(*, unavailable)
extension CheckpointedStages.Iterator: Sendable {}
