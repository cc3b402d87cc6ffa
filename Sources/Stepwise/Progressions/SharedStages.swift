// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Stages {
  /// Lets several consumers see one run of these stages.
  ///
  /// - Parameter sharing: What a consumer that is slower than others is given.
  /// - Returns: The stages of one run, which begins when the first consumer asks for the stage after the first one.
  public func shared(_ sharing: StageSharing) -> SharedStages<P> {
    SharedStages(storage: SharingStorage(self, sharing))
  }
}

/// The stages of one run of a progression, for several consumers.
///
/// No more than the newest stage is kept, however slow a consumer is: with ``StageSharing/everyStage`` the run waits for it,
/// with ``StageSharing/latest`` it skips stages. Each iterator is a consumer from the moment it is made, until its iteration
/// ends, its Task is cancelled, or it is let go of. A consumer that comes late begins at the newest stage. One that is
/// cancelled is thrown `CancellationError` and is gone; the others go on.
///
/// The run works in a Task of its own, with the priority and the task-locals of the consumer that asked first; it is not
/// cancelled with that one. It ends with the progression, with the first error, which is thrown to all consumers, or when the
/// last consumer has gone: then the stage in progress is cancelled, and whoever comes later is given the newest stage and then
/// `CancellationError`.
public struct SharedStages<P: Progression>: AsyncSequence, Sendable {
  /// A stage that was reached.
  public typealias Element = P
  /// What stages throw.
  public typealias Failure = any Error

  let storage: SharingStorage<P>

  /// Becomes a consumer.
  public func makeAsyncIterator() -> Iterator { Iterator(consumer: SharingConsumer(storage)) }

  /// Takes stages, for one consumer.
  public struct Iterator: AsyncIteratorProtocol {
    let consumer: SharingConsumer<P>

    /// Waits for a stage newer than the one taken last.
    ///
    /// - Returns: The stage; nil after the last one.
    /// - Throws: What a stage threw; `CancellationError` when the Task that waits is cancelled.
    public mutating func next() async throws -> P? { try await next(isolation: nil) }

    /// Waits, in an actor's isolation, for a stage newer than the one taken last.
    ///
    /// - Returns: The stage; nil after the last one.
    /// - Throws: What a stage threw; `CancellationError` when the Task that waits is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> P? {
      try await consumer.next()
    }
  }
}

@available(*, unavailable)
extension SharedStages.Iterator: Sendable {}
