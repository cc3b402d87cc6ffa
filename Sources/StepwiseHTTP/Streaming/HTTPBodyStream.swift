// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
import Stepwise

/// The body of a response, as an asynchronous sequence of chunks.
///
/// A chunk is received when it is requested: a loop that takes long holds the server back, and memory stays flat.
/// Chunks are not empty, and are divided as the network delivered them. Leaving the loop, or cancelling its Task, ends
/// the request and closes the connection. So does releasing a body that was not read.
///
/// The body can be read once. A second loop throws ``HTTPError/refused(reason:)``.
public struct HTTPBodyStream: AsyncSequence, Sendable {
  /// Some consecutive bytes of the body, decompressed.
  public typealias Element = Data
  /// ``HTTPError`` when the body breaks off, `CancellationError` when the Task is cancelled.
  public typealias Failure = any Error

  let source: any BodySource
  private let isRead = SharedFlag()

  init(_ source: any BodySource) { self.source = source }

  /// Creates a body of chunks in memory, for tests of code that reads one.
  public init(_ chunks: [Data] = []) { source = BufferedBody(chunks) }

  /// Creates the iterator, which ends the request when it is released.
  public func makeAsyncIterator() -> Iterator { Iterator(reader: isRead.set() ? Reader(source) : nil) }

  /// The iterator of a body.
  public struct Iterator: AsyncIteratorProtocol {
    /// Nil when the body was read by another.
    fileprivate let reader: Reader?

    /// Waits for the next chunk in an actor's isolation; nil at the end of the body.
    ///
    /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
      guard let reader else { throw HTTPError.refused(reason: "the body of a response can be read once") }
      return try await reader.source.chunk()
    }
  }

  /// Ends the request with the last reference.
  fileprivate final class Reader: Sendable {
    let source: any BodySource

    init(_ source: any BodySource) { self.source = source }

    deinit { source.stop() }
  }
}

@available(*, unavailable)
extension HTTPBodyStream.Iterator: Sendable {}

/// What the chunks of a body come from.
protocol BodySource: Sendable {
  /// Waits for the next chunk; nil at the end.
  nonisolated(nonsending) func chunk() async throws -> Data?

  /// Ends the request, unless the body has ended.
  func stop()
}

extension Exchange: BodySource {
  func stop() { stop(with: CancellationError()) }
}

/// A body in memory.
final class BufferedBody: BodySource {
  private let chunks: Lock<ArraySlice<Data>>

  init(_ chunks: [Data]) { self.chunks = Lock(chunks.filter { !$0.isEmpty }[...]) }

  nonisolated(nonsending) func chunk() async throws -> Data? {
    try Task.checkCancellation()
    return chunks.withLock { $0.popFirst() }
  }

  func stop() { _ = chunks.withLock { exchange(&$0, with: []) } }
}

/// A flag that is set once.
private final class SharedFlag: Sendable {
  private let isSet = Lock(false)

  /// Returns whether this call was the first.
  func set() -> Bool { isSet.withLock { !exchange(&$0, with: true) } }
}
