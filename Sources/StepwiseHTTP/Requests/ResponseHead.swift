// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// What comes before the body of an answer.
struct ResponseHead: Sendable {
  let status: Int
  let headers: HTTPHeaders
  /// The length of the body where it is known; it is not when URLSession decompresses it.
  var length: Int64? {
    guard headers["Content-Encoding"].map({ $0.lowercased() == "identity" }) ?? true else { return nil }
    return headers["Content-Length"].flatMap { Int64($0) }
  }

  init(status: Int, headers: HTTPHeaders) {
    self.status = status
    self.headers = headers
  }

  /// Nil for one that is not HTTP's, or that only announces another.
  init?(_ response: URLResponse?) {
    guard let response = response as? HTTPURLResponse, response.statusCode >= 200 || response.statusCode == 101 else {
      return nil
    }
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { fields[name] = value }
    self.init(status: response.statusCode, headers: HTTPHeaders(fields))
  }
}
