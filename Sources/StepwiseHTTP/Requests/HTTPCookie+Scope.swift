// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

extension HTTPCookie {
  /// Whether a cookie of the host may be sent to an address there, as RFC 6265 says.
  ///
  /// The jar on Linux looks at the host alone.
  func maySend(to url: URL, at now: Date) -> Bool {
    if isSecure, url.scheme != "https" { return false }
    if let expiresDate, expiresDate <= now { return false }
    let target = url.path(percentEncoded: true)
    return target == path || target.hasPrefix(path.hasSuffix("/") ? path : path + "/")
  }
}
