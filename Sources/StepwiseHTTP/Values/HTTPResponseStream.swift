// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
import Stepwise

/// A response whose head has arrived, and whose body is received as it is read.
///
/// Check ``status`` before you read ``body`` or ``events``.
public struct HTTPResponseStream: Sendable {
  /// The status, such as 200 or 404.
  public let status: Int

  /// The header fields.
  public let headers: HTTPHeaders

  /// The URL that the response came from, after redirects, without a user name and password.
  public let url: URL

  /// The body, which you can read once.
  public let body: HTTPBodyStream

  /// The decoder of the client that sent the request; nil without a client.
  var decoder: JSONDecoder?

  /// Creates a response, for tests and interceptors.
  public init(status: Int, headers: HTTPHeaders = [:], url: URL, body: HTTPBodyStream = HTTPBodyStream()) {
    self.status = status
    self.headers = headers
    self.url = url
    self.body = body
  }

  /// A Boolean value that indicates whether the status is one of 200 to 299.
  public var isSuccess: Bool { (200..<300).contains(status) }

  /// Returns the response if its status is one of 200 to 299.
  ///
  /// Otherwise it receives the first 64 KiB of the body, for the error.
  ///
  /// - Returns: The response itself.
  /// - Throws: ``HTTPStatusError`` for any other status; ``HTTPError``; `CancellationError` when the Task is cancelled.
  @discardableResult
  public func requireSuccess() async throws -> HTTPResponseStream {
    if isSuccess { return self }
    var beginning = Data()
    for try await chunk in body {
      beginning += chunk.prefix(Self.errorBody - beginning.count)
      if beginning.count >= Self.errorBody { break }
    }
    throw HTTPStatusError(response: response(body: beginning))
  }

  /// How many bytes of the body of a discarded response are received.
  static let errorBody = 64 * 1024

  /// Receives the rest of the body, which may have as many bytes as the limit.
  ///
  /// - Throws: ``HTTPError/bodyTooLarge(limit:)`` and other cases of ``HTTPError``; `CancellationError` when the Task
  ///   is cancelled.
  public func collected(
    upTo limit: Int = 64 * 1024 * 1024
  ) async throws -> HTTPResponse {
    var data = Data()
    for try await chunk in body {
      guard chunk.count <= limit - data.count else { throw HTTPError.bodyTooLarge(limit: limit) }
      if data.isEmpty { data = chunk } else { data.append(chunk) }
    }
    return response(body: data)
  }

  func response(status: Int? = nil, body: Data = Data()) -> HTTPResponse {
    var response = HTTPResponse(status: status ?? self.status, headers: headers, body: body, url: url)
    response.decoder = decoder
    return response
  }
}

extension HTTPResponseStream: CustomStringConvertible {
  /// The status.
  public var description: String { "HTTPResponseStream(\(status))" }
}

/// The body of a response, as an asynchronous sequence of chunks.
///
/// A chunk is received when it is requested: a loop that takes long holds the server back, and memory stays flat.
/// Chunks are not empty, and are divided as the network delivered them. Leaving the loop, or cancelling its Task, ends
/// the request and closes the connection. So does releasing a body that was not read.
///
/// You can read the body once. A second loop throws ``HTTPError/refused(reason:)``.
public struct HTTPBodyStream: AsyncSequence, Sendable {
  /// Some consecutive bytes of the body, decompressed.
  public typealias Element = Data
  /// ``HTTPError`` when the body breaks off, `CancellationError` when the Task is cancelled.
  public typealias Failure = any Error

  /// Waits for the next chunk, or nil at the end; releasing it ends the request.
  typealias Source = @Sendable () async throws -> Data?

  private final class Content: Sendable {
    /// Nil once an iterator has it.
    let source: Lock<Source?>

    init(_ source: @escaping Source) { self.source = Lock(source) }
  }

  private let content: Content

  init(_ source: @escaping Source) { content = Content(source) }

  /// Creates a body of chunks in memory, for tests of code that reads one.
  public init(_ chunks: [Data] = []) {
    let rest = Lock(chunks.filter { !$0.isEmpty }[...])
    self.init {
      try Task.checkCancellation()
      return rest.withLock { $0.popFirst() }
    }
  }

  /// Creates the iterator, which ends the request when it is released.
  public func makeAsyncIterator() -> Iterator { Iterator(source: content.source.withLock { $0.take() }) }

  /// The iterator of a body.
  public struct Iterator: AsyncIteratorProtocol {
    /// Nil when the body was read by another.
    fileprivate let source: Source?

    /// Waits for the next chunk in an actor's isolation; nil at the end of the body.
    ///
    /// - Throws: ``HTTPError``; `CancellationError` when the Task is cancelled.
    public mutating func next(isolation actor: isolated (any Actor)?) async throws -> Data? {
      guard let source else { throw HTTPError.refused(reason: "the body of a response can be read once") }
      return try await source()
    }
  }
}

@available(*, unavailable)
extension HTTPBodyStream.Iterator: Sendable {}
