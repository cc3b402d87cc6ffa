// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// What all transfers of a ``CurlTransport`` have in common.
struct CurlSettings: Sendable {
  var connectionsPerHost: Int
  var tls = HTTPTLSSettings()
  var proxy = HTTPProxy.system
}
