// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension LoopbackServer {
  /// A request as it arrived.
  package struct Request: Sendable {
    package let method: String
    /// The path without the query, such as `"/cat.bmp"`.
    package let path: String
    /// What follows the question mark, or nil.
    package let query: String?
    /// The headers, in order of arrival.
    package let headers: [(name: String, value: String)]
    package let body: [UInt8]
    /// Whether the client leaves the connection open for another request.
    package let keepsConnection: Bool

    /// The value of the first header with a name, ignoring case.
    package func header(_ name: String) -> String? {
      Self.value(of: name, in: headers)
    }

    static func value(of name: String, in headers: [(name: String, value: String)]) -> String? {
      let name = name.lowercased()
      return headers.first { header in header.name.lowercased() == name }?.value
    }
  }
}
