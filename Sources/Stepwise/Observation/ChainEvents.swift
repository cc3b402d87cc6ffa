// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a subscriber reads of the record of a run: its events, or its progress.
struct RecordReader<Element: Sendable>: AsyncSequence, Sendable {
  typealias Failure = Never
  typealias Subscription = Broadcast<RunRecorder.State, RunRecorder.Key>.Subscription

  /// The handle, whose release ends the recording.
  let run: any AnyObject & Sendable
  let subscribe: @Sendable () -> Subscription
  let read: @Sendable (borrowing RunRecorder.State, RunRecorder.Key) -> Element?

  func makeAsyncIterator() -> Iterator { Iterator(reader: self, subscription: subscribe()) }

  struct Iterator: AsyncIteratorProtocol {
    let reader: RecordReader
    let subscription: Subscription

    mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
      await subscription.next { reader.read($0, $1) }
    }
  }
}

@available(*, unavailable)
extension RecordReader.Iterator: Sendable {}

extension RunRecorder {
  func events(of run: any AnyObject & Sendable) -> RecordReader<ChainEvent> {
    RecordReader(run: run, subscribe: observeEvents) { self.event($0, $1) }
  }

  func progress(of run: any AnyObject & Sendable) -> RecordReader<ChainProgress> {
    RecordReader(run: run, subscribe: observeProgress) { self.progress($0, $1) }
  }
}
