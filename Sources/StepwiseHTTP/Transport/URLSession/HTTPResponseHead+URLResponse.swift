// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPResponseHead {
  /// Nil for a response that is not HTTP, or that only announces another one.
  init?(_ response: URLResponse?) {
    guard let response = response as? HTTPURLResponse, response.statusCode >= 200 || response.statusCode == 101 else {
      return nil
    }
    var fields: [String: String] = [:]
    for case (let name as String, let value as String) in response.allHeaderFields { fields[name] = value }
    self.init(status: response.statusCode, headers: HTTPHeaders(fields))
  }
}
