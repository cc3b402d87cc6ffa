// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
public import StepwiseHTTP

/// A request as a stub received it.
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
