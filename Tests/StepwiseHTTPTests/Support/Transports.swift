// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

@testable import StepwiseHTTP

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The transports that there are on this system.
enum TransportKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case urlSession
  case libcurl

  static var available: [TransportKind] {
    #if os(Linux)
      allCases
    #else
      [.urlSession]
    #endif
  }

  var testDescription: String { rawValue }

  func transport(connectionsPerHost: Int = HTTPSession.defaultConnectionsPerHost) throws -> any HTTPTransport {
    switch self {
    case .urlSession:
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = connectionsPerHost
      return URLSessionTransport(configuration: configuration)
    case .libcurl:
      #if os(Linux)
        return try #require(CurlTransport(connectionsPerHost: connectionsPerHost))
      #else
        throw HTTPError.refused(reason: "there is no libcurl here")
      #endif
    }
  }

  func client(_ url: URL, deadlines: HTTPDeadlines = .standard) throws -> HTTPClient {
    HTTPClient(baseURL: url, session: HTTPSession(transport: try transport()), deadlines: deadlines)
  }
}
