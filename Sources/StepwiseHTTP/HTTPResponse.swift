// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

/// The response to a request, whatever its status.
public struct HTTPResponse: Sendable {
  /// The status, such as 200 or 404.
  public let status: Int

  /// The header fields.
  public let headers: HTTPHeaders

  /// The body, decompressed; empty after a download that wrote it to a file.
  public let body: Data

  /// The URL that the response came from, after redirects, without a user name and password.
  public let url: URL

  /// The decoder of the client that sent the request; nil without a client.
  var decoder: JSONDecoder?

  /// Creates a response, for tests of code that receives one.
  public init(status: Int, headers: HTTPHeaders = [:], body: Data = Data(), url: URL) {
    self.status = status
    self.headers = headers
    self.body = body
    self.url = url
  }

  /// A Boolean value that indicates whether the status is one of 200 to 299.
  public var isSuccess: Bool { (200..<300).contains(status) }

  /// Returns the response if its status is one of 200 to 299.
  ///
  /// ```swift
  /// let track = try await HTTP.get(url).requireSuccess().decoded(as: Track.self)
  /// ```
  ///
  /// - Returns: The response itself.
  /// - Throws: ``HTTPStatusError`` for any other status.
  @discardableResult
  public func requireSuccess() throws(HTTPStatusError) -> HTTPResponse {
    guard isSuccess else { throw HTTPStatusError(response: self) }
    return self
  }

  /// Decodes the body from JSON.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - decoder: The decoder; nil for the client's ``HTTPClient/decoder``.
  /// - Returns: The value.
  /// - Throws: `DecodingError`. The status is ignored: call ``requireSuccess()`` first where it matters.
  public func decoded<Value: Decodable>(
    as type: Value.Type = Value.self,
    using decoder: JSONDecoder? = nil
  ) throws -> Value {
    try (decoder ?? self.decoder ?? JSONDecoder()).decode(type, from: body)
  }

  /// Returns how long the server wants the client to wait before the next attempt, from its header `Retry-After`.
  ///
  /// - Parameter now: The time that a date in the header is compared with.
  /// - Returns: The time to wait; nil when there is no such header.
  public func retryAfter(now: Date = Date()) -> Duration? { headers.retryAfter(now: now) }
}

extension HTTPHeaders {
  func retryAfter(now: Date) -> Duration? {
    guard let value = self["Retry-After"]?.trimmingCharacters(in: .whitespaces) else { return nil }
    if !value.isEmpty, value.allSatisfy({ $0.isASCII && $0.isNumber }) { return Int64(value).map { .seconds($0) } }
    guard let date = HTTPDate.parse(value) else { return nil }
    return .seconds(max(0, date.timeIntervalSince(now)))
  }
}

extension HTTPResponse: CustomStringConvertible {
  /// The status and the length of the body.
  public var description: String { "HTTPResponse(\(status), \(body.count) bytes)" }
}
