// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// A response whose head has arrived, and whose body is received as it is read.
public struct HTTPResponseStream: Sendable {
  /// The status, such as 200 or 404.
  public let status: Int

  /// The header fields.
  public let headers: HTTPHeaders

  /// The URL that the response came from, after redirects, without a user name and password.
  public let url: URL

  /// The body, which can be read once.
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
  public nonisolated(nonsending) func requireSuccess() async throws -> HTTPResponseStream {
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

  /// Receives the rest of the body.
  ///
  /// - Parameter limit: The maximum number of bytes of the body.
  /// - Returns: The response with its body in memory.
  /// - Throws: ``HTTPError/bodyTooLarge(limit:)`` and other cases of ``HTTPError``; `CancellationError` when the Task
  ///   is cancelled.
  public nonisolated(nonsending) func collected(
    upTo limit: Int = HTTPSession.defaultBodyLimit
  ) async throws -> HTTPResponse {
    var data = Data()
    for try await chunk in body {
      guard chunk.count <= limit - data.count else { throw HTTPError.bodyTooLarge(limit: limit) }
      if data.isEmpty { data = chunk } else { data.append(chunk) }
    }
    return response(body: data)
  }

  func response(body: Data) -> HTTPResponse {
    var response = HTTPResponse(status: status, headers: headers, body: body, url: url)
    response.decoder = decoder
    return response
  }
}

extension HTTPResponseStream: CustomStringConvertible {
  /// The status.
  public var description: String { "HTTPResponseStream(\(status))" }
}
