// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
public import StepwiseHTTP

/// A request as a stub received it.
///
/// Compare it with what you expect your code to send.
public struct HTTPStubRequest: Sendable {
  /// The method, such as `GET`.
  public let method: String

  /// The absolute URL, with the query.
  public let url: URL

  /// The header fields, with cookies and credentials.
  public let headers: HTTPHeaders

  /// The whole body, also of a file, a sequence or a form.
  public let body: Data

  /// The body as UTF-8.
  public var text: String { String(decoding: body, as: UTF8.self) }

  /// Decodes the body from JSON.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - decoder: The decoder.
  /// - Returns: The value.
  /// - Throws: `DecodingError`.
  public func decoded<Value: Decodable>(
    as type: Value.Type = Value.self,
    using decoder: JSONDecoder = JSONDecoder()
  ) throws -> Value {
    try decoder.decode(type, from: body)
  }
}

/// The response of a stub.
///
/// Return one from your handler.
public struct HTTPStubResponse: Sendable {
  /// The status, such as 200 or 404.
  public var status: Int

  /// The header fields.
  public var headers: HTTPHeaders

  /// The body, in the chunks that a stream receives.
  public var chunks: [Data]

  /// How long to wait before the head.
  public var delay: Duration

  /// How long to wait before each chunk.
  public var chunkDelay: Duration

  /// The error that ends the body after its chunks; nil when the body is complete.
  public var failure: HTTPError?

  /// Creates a response.
  ///
  /// - Parameters:
  ///   - status: The status.
  ///   - headers: The header fields.
  ///   - chunks: The body, in the chunks that a stream receives.
  ///   - delay: How long to wait before the head, by the stub's clock.
  ///   - chunkDelay: How long to wait before each chunk, by the stub's clock.
  ///   - failure: The error that ends the body after its chunks; nil when the body is complete.
  public init(
    status: Int = 200,
    headers: HTTPHeaders = [:],
    chunks: [Data] = [],
    delay: Duration = .zero,
    chunkDelay: Duration = .zero,
    failure: HTTPError? = nil
  ) {
    self.status = status
    self.headers = headers
    self.chunks = chunks
    self.delay = delay
    self.chunkDelay = chunkDelay
    self.failure = failure
  }

  /// Creates a response without a body.
  public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> HTTPStubResponse {
    HTTPStubResponse(status: status, headers: headers)
  }

  /// Creates a response of plain text.
  public static func text(_ text: String, status: Int = 200) -> HTTPStubResponse {
    HTTPStubResponse(
      status: status,
      headers: ["Content-Type": "text/plain; charset=utf-8"],
      chunks: [Data(text.utf8)]
    )
  }

  /// Creates a response of a value in JSON.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - status: The status.
  ///   - encoder: The encoder.
  /// - Returns: The response.
  /// - Throws: `EncodingError`.
  public static func json(
    _ value: some Encodable,
    status: Int = 200,
    encoder: JSONEncoder = JSONEncoder()
  ) throws -> HTTPStubResponse {
    let body = try encoder.encode(value)
    return HTTPStubResponse(status: status, headers: ["Content-Type": "application/json"], chunks: [body])
  }

  /// Returns the response with a delay before its head, by the stub's clock.
  public func delayed(by delay: Duration) -> HTTPStubResponse {
    var response = self
    response.delay = delay
    return response
  }
}
