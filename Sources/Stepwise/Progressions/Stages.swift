// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The stages of a progression, as an asynchronous sequence that starts with the first stage.
///
/// ```swift
/// for try await stage in FileOpen.read(url).stages { show(stage) }
/// ```
///
/// The run never gets ahead of the consumer: requesting an element does the work of the stage before it, off the
/// caller's actor. Leaving the loop stops the progression. To resume it, call ``Progression/run()`` or `stages` on the
/// last stage received. The sequence ends after the stage that has a result. It throws the error of a stage and ends
/// then. When the iterating task is cancelled, it throws `CancellationError` instead of starting the work of a stage.
///
/// Each iterator starts at the first stage and repeats the work. Use ``shared(_:)`` to iterate one run several times.
public struct Stages<P: Progression>: AsyncSequence, Sendable {
  /// A stage of the progression.
  public typealias Element = P
  /// The type of the errors that stages throw.
  public typealias Failure = any Error

  @usableFromInline let first: P

  @usableFromInline
  init(first: P) {
    self.first = first
  }

  /// Creates an iterator that starts at the first stage.
  @inlinable
  public func makeAsyncIterator() -> Iterator { Iterator(first) }

  /// An iterator over the stages for one consumer.
  public struct Iterator: AsyncIteratorProtocol {
    /// The stage returned last, or the first one; nil while its work runs, and after the end.
    @usableFromInline var stage: P?
    @usableFromInline var isBegun = false

    @usableFromInline
    init(_ first: P) {
      stage = first
    }

    /// Does the work of the stage returned last, off the isolation of the calling actor.
    ///
    /// - Returns: The next stage; nil after the one that has a result.
    /// - Throws: The error of the stage; `CancellationError` when the task is cancelled before the work starts.
    @inlinable
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> P? {
      guard isBegun else {
        isBegun = true
        return stage
      }
      // Stays nil when the work throws, so that the iteration ends.
      guard let stage = stage.take(), stage.result == nil else { return nil }
      if Task.isCancelled { throw CancellationError() }
      let next = try await stage.next()
      self.stage = next
      return next
    }
  }
}

@available(*, unavailable)
extension Stages.Iterator: Sendable {}
