// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import Foundation

  /// A transport on the system's libcurl, which is loaded when it is first used: the one of Linux.
  ///
  /// All transfers are on one thread, which waits for the network and does nothing while there is nothing to do. It begins
  /// with the first transfer and ends with the transport.
  public final class CurlTransport: HTTPTransport {
    private let loop: CurlLoop

    /// Creates a transport; nil where libcurl cannot be loaded, which is said once on standard error.
    ///
    /// The variable `STEPWISE_LIBCURL` of the environment names another file than `libcurl.so.4`.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: How many connections to one host there are at most; further transfers wait for one. Over
    ///     HTTP/2 many transfers share a connection.
    ///   - tls: Whom the connections trust.
    ///   - proxy: What stands between them and the servers.
    public init?(
      connectionsPerHost: Int = HTTPSession.defaultConnectionsPerHost,
      tls: HTTPTLSSettings = HTTPTLSSettings(),
      proxy: HTTPProxy = .system
    ) {
      guard CurlLibrary.isAvailable else { return nil }
      loop = CurlLoop(
        settings: CurlSettings(connectionsPerHost: max(1, connectionsPerHost), tls: tls, proxy: proxy)
      )
    }

    deinit { invalidate() }

    /// Creates the transfer of one request.
    public func transfer(_ request: HTTPTransferRequest) -> any HTTPTransfer { CurlTransfer(request, on: loop) }

    /// Ends the thread once the transfers that have begun are complete.
    public func invalidate() { loop.send(.end) }
  }
#endif
