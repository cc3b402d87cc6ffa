// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if os(Linux) || os(Android)
  import Foundation

  /// A transport on the system's libcurl, which is loaded on first use; the transport of Linux.
  ///
  /// One thread runs all transfers and waits for the network. It starts with the first transfer and ends with the
  /// transport.
  public final class CurlTransport: HTTPTransport {
    private let loop: CurlLoop

    /// Creates a transport; returns nil when libcurl cannot be loaded, which is reported once on standard error.
    ///
    /// The environment variable `STEPWISE_LIBCURL` names a file to load instead of `libcurl.so.4`.
    ///
    /// - Parameters:
    ///   - connectionsPerHost: The maximum number of connections to one host; further transfers wait for one,
    ///     also over HTTP/2.
    ///   - tls: The trust settings of the connections.
    ///   - proxy: The proxy of the connections.
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

    /// Ends the thread once the transfers that have started are complete.
    public func invalidate() { loop.send(.end) }
  }
#endif
