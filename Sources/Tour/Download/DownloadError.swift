// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An error of a download, described in one line.
struct DownloadError: Error, CustomStringConvertible {
  let description: String

  /// Creates an error from what the server did.
  init(from url: URL, _ what: String) {
    // Only the host, because the full URL may contain a password.
    let port = url.port.map { port in ":\(port)" } ?? ""
    description = "\(url.host ?? "the server")\(port) \(what)"
  }

  /// Creates an error from one of URLSession's, whose description differs between systems.
  init(_ error: any Error, from url: URL, received: Int, of expected: Int64) {
    switch (error as? URLError)?.code {
    case .cannotConnectToHost:
      self.init(from: url, "does not answer; is a server running there?")
    case .cannotFindHost, .dnsLookupFailed:
      self.init(from: url, "is not known; is the address spelt right?")
    case .timedOut:
      self.init(from: url, "was silent for \(Int(Download.patience)) seconds")
    case .badURL, .unsupportedURL:
      self.init(from: url, "cannot be reached: the address makes no sense")
    case .httpTooManyRedirects:
      self.init(from: url, "redirects in a circle")
    case _ where received < expected:
      self.init(from: url, "broke off after \(received) of \(expected) bytes")
    case .badServerResponse, .networkConnectionLost:
      self.init(from: url, "closed the connection without an answer")
    default:
      self.init(from: url, "could not be understood: \(error.localizedDescription)")
    }
  }
}
