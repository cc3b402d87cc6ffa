// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The rules of a transport that URLSession does not follow; the documentation of `URLSessionTransport` lists them for users.
///
/// Tests of these rules run with the transports that follow them, and all others with every transport.
enum TransportDifference: CaseIterable {
  /// Header lines of one name stay separate. URLSession has a dictionary, in which they are joined by commas.
  case separateHeaderLines
  /// The path is sent unchanged. URLSession on Linux resolves `..` in it.
  case dotSegments
  /// An IPv6 literal is a host. URLSession on Linux cannot connect to one.
  case ipv6Literals
  /// A body of unknown length is sent in chunks. URLSession on Linux has no streams for bodies, so each is written to a
  /// temporary file first, whose length is known; on Apple's platforms this is done as well, so that both behave alike.
  case chunkedUploads
  /// A 401 that requests Basic authentication is a response. URLSession on Linux waits for credentials until its time limit.
  case unauthorized
  /// A redirect without a location has its body. URLSession on Linux follows none, and reports it without a body.
  case redirectBodies
  /// Sloppy responses that curl accepts are accepted: lines that end with LF alone, values in Latin-1. URLSession on Linux
  /// rejects them.
  case sloppyHeads
  /// A body with a trailer, and a response that ends within its head, do not end the process. URLSession on Linux traps
  /// (swift-corelibs-foundation #5285).
  case trailers
  /// A consumer that does not read stops the server. URLSession on Linux cannot suspend a task without losing bytes.
  case backPressure

  /// The transports that follow the rule.
  var followers: [TransportKind] {
    #if os(Linux)
      [.libcurl]
    #else
      switch self {
      case .separateHeaderLines, .chunkedUploads: []
      case .dotSegments, .ipv6Literals, .unauthorized, .redirectBodies, .sloppyHeads, .trailers, .backPressure:
        [.urlSession]
      }
    #endif
  }
}
