// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Stages {
  /// Returns stages that several consumers iterate while the progression runs once.
  ///
  /// Only the newest stage is buffered: with ``StageSharing/everyStage`` the run waits for the slowest consumer, with
  /// ``StageSharing/latest`` a slow consumer skips stages. An iterator becomes a consumer when it is created. It stops
  /// being one when its iteration ends, its task is cancelled, or it is released. A consumer that joins late starts at
  /// the newest stage. A cancelled consumer receives `CancellationError`; the others continue.
  ///
  /// The run has its own task, with the priority and the task-local values of the consumer that requested a stage
  /// first. Cancelling that consumer does not cancel the run. The run ends with the progression, with the first error,
  /// which every consumer receives, or when the last consumer leaves. In the last case the stage in progress is
  /// cancelled, and a consumer that joins later receives the newest stage and then `CancellationError`.
  ///
  /// - Parameter sharing: Which stages a consumer receives when it is slower than others.
  /// - Returns: The stages of one run. The work starts when the first consumer requests the second stage.
  public func shared(_ sharing: StageSharing) -> some AsyncSequence<P, any Error> & Sendable {
    SharedStages(storage: SharingStorage(self, sharing))
  }
}

private struct SharedStages<P: Progression>: AsyncSequence, Sendable {
  let storage: SharingStorage<P>

  func makeAsyncIterator() -> Iterator { Iterator(consumer: SharingConsumer(storage)) }

  struct Iterator: AsyncIteratorProtocol {
    /// Nil after the end; releasing it leaves the run.
    var consumer: SharingConsumer<P>?

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> P? {
      guard let current = consumer.take(), let stage = try await current.next() else { return nil }
      consumer = current
      return stage
    }
  }
}
