// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// The settings that all transfers of a ``CurlTransport`` share.
struct CurlSettings: Sendable {
  var connectionsPerHost: Int
  var tls = HTTPTLSSettings()
  var proxy = HTTPProxy.system
}
