// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import StepwiseHTTP

/// The servers of others that `.ci/servers` starts.
enum ForeignServers {
  static let isAvailable = !ports.isEmpty

  /// The reason why tests with them do not run.
  static let absence: Comment =
    "STEPWISE_SERVERS is not set, so nginx, Apache and httpbin are not tested; `.ci/run` does"

  private static let ports: [String: Int] = {
    var ports: [String: Int] = [:]
    for entry in (environment["STEPWISE_SERVERS"] ?? "").split(separator: " ") {
      let parts = entry.split(separator: "=")
      if parts.count == 2 { ports[String(parts[0])] = Int(parts[1]) }
    }
    return ports
  }()

  private static var environment: [String: String] { ProcessInfo.processInfo.environment }

  /// Creates a client of a server, such as `nginx`; one whose name ends with `-tls` is reached over TLS.
  static func client(_ name: String) throws -> HTTPClient {
    withoutProxy
    let port = try #require(ports[name])
    let scheme = name.hasSuffix("-tls") ? "https" : "http"
    let url = try #require(URL(string: "\(scheme)://127.0.0.1:\(port)/"))
    let authority = environment["STEPWISE_SERVERS_CA"].map { URL(filePath: $0) }
    let session = HTTPSession(tls: HTTPTLSSettings(certificateAuthorities: authority))
    return HTTPClient(baseURL: url, session: session, deadlines: .never)
  }
}
