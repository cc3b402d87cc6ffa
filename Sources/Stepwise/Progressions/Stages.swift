// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The stages of a progression, as an asynchronous sequence: the first one, then each one reached.
///
/// ```swift
/// for try await stage in FileOpen.read(url).stages { show(stage) }
/// ```
///
/// Nothing runs ahead of the consumer: a stage is worked on when the one after it is asked for, off the caller's actor, and
/// leaving the loop leaves the rest undone. The last stage seen goes on where the loop stopped, with its own `stages` or
/// ``Progression/run()``. The sequence ends after the stage that has a result. It throws what a stage throws, and ends then;
/// when the Task that iterates is cancelled, it throws `CancellationError` instead of beginning the work of a stage.
///
/// Each iterator begins at the first stage and does the work again; ``shared(_:)`` lets several consumers see one run.
public struct Stages<P: Progression>: AsyncSequence, Sendable {
  /// A stage that was reached.
  public typealias Element = P
  /// What stages throw.
  public typealias Failure = any Error

  @usableFromInline let first: P
  @usableFromInline let watch: StuckWatch<P>

  @usableFromInline
  init(first: P, watch: StuckWatch<P>) {
    self.first = first
    self.watch = watch
  }

  /// Begins at the first stage.
  @inlinable
  public func makeAsyncIterator() -> Iterator { Iterator(first, watch) }

  /// Goes from stage to stage, for one consumer.
  public struct Iterator: AsyncIteratorProtocol {
    /// The stage given last, or to be given first; nil after the end.
    @usableFromInline var stage: P?
    @usableFromInline var isBegun = false
    @usableFromInline var watch: StuckWatch<P>

    @usableFromInline
    init(_ first: P, _ watch: StuckWatch<P>) {
      stage = first
      self.watch = watch
    }

    /// Does the work of the stage given last.
    ///
    /// - Returns: The stage that was reached; nil after the one that has a result.
    /// - Throws: What the stage throws; `CancellationError` when the Task is cancelled before the work begins.
    @inlinable
    public mutating func next() async throws -> P? { try await next(isolation: nil) }

    /// Does the work of the stage given last, for a consumer in an actor's isolation; the work is done outside of it.
    ///
    /// - Returns: The stage that was reached; nil after the one that has a result.
    /// - Throws: What the stage throws; `CancellationError` when the Task is cancelled before the work begins.
    @inlinable
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> P? {
      guard isBegun else {
        isBegun = true
        return stage
      }
      guard let stage, stage.result == nil else {
        self.stage = nil
        return nil
      }
      do {
        if Task.isCancelled { throw CancellationError() }
        let next = try await stage.next()
        try watch.pass(from: stage, to: next)
        self.stage = next
        return next
      } catch {
        self.stage = nil
        throw error
      }
    }
  }
}

@available(*, unavailable)
extension Stages.Iterator: Sendable {}
