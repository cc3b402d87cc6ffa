// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A type that carries requests to servers: URLSession, libcurl, or a stub in a test.
///
/// A transport only sends requests over the network. An ``HTTPSession`` on top of it follows redirects, stores cookies,
/// enforces deadlines, limits bodies and adds credentials: these work in the same way with each transport. A transport
/// therefore
///
/// - returns every response unchanged: a redirect, a 401 and a 407 are responses;
/// - sends exactly the header fields of the request, and adds only what the protocol needs: `Host`, `Content-Length` or
///   `Transfer-Encoding`, `Connection`, `Accept-Encoding`, and an `Accept` and a `User-Agent` when there are none;
/// - stores no cookies, caches nothing, and has no deadlines;
/// - decompresses the body and leaves the header fields unchanged;
/// - throws ``HTTPError``, which contains no URL, header value or password.
///
/// To use your own transport, pass it to ``HTTPSession/init(transport:cookies:bodyLimit:)``.
public protocol HTTPTransport: Sendable {
  /// Creates the transfer of one request; does nothing until its ``HTTPTransfer/head()`` is called.
  ///
  /// The request is checked: it has an absolute URL of `http` or `https` without user name, password and fragment, and
  /// cookies and credentials in its headers. Of its rules, only the `connect` deadline is for the transport.
  func transfer(_ request: HTTPRequest) -> any HTTPTransfer

  /// Shuts down after in-flight transfers complete.
  ///
  /// A transfer that starts later throws ``HTTPError/refused(reason:)``. May be called any number of times.
  func invalidate()
}

/// One request to a server, and its response.
///
/// One consumer calls ``head()`` once, then ``chunk()`` until that returns nil. You can call ``cancel()`` from
/// anywhere at any time. A consumer that does not read to the end calls ``cancel()``.
public protocol HTTPTransfer: Sendable {
  /// Sends the request, and suspends until the head of the final response has arrived.
  ///
  /// Responses of status 100 to 199 are skipped, except for 101. Cancelling the task has no effect: call ``cancel()``.
  ///
  /// - Throws: ``HTTPError``; `CancellationError` after ``cancel()``, also when that was called before. After an error
  ///   there is nothing more to read.
  func head() async throws -> HTTPResponseHead

  /// Returns the next piece of the body, decompressed and not empty, or nil at its end; suspends until it has arrived.
  ///
  /// The transport reads ahead a bounded amount, and then makes the server wait until the consumer calls again. The
  /// transport chooses the amount and the size of a piece, up to some hundred kilobytes.
  ///
  /// - Throws: ``HTTPError``; `CancellationError` after ``cancel()``.
  func chunk() async throws -> Data?

  /// Cancels the transfer and closes its connection, unless the response is complete.
  ///
  /// A suspended call throws `CancellationError` immediately, without waiting for the network, and so does a later one.
  /// May be called any number of times, from any thread; does not block.
  func cancel()
}

/// The errors of transfers, without the URLs that URLSession's errors contain.
package enum TransferFailure {
  /// The connection ended before any response arrived.
  package static var noAnswer: HTTPError { .connectionLost(reason: "the server closed it without a response") }

  /// The connection ended within the head of the response.
  static var cutHead: HTTPError { .connectionLost(reason: "the server closed it within the head of the response") }

  /// Fewer bytes arrived than were announced.
  package static var tooShort: HTTPError { .connectionLost(reason: "the response is not as long as its headers say") }

  /// A different part of the file arrived than was requested.
  static var wrongRange: HTTPError { .protocolError(reason: "it has another part of the file than was requested") }

  /// Converts an error for the caller.
  package static func error(_ error: any Error) -> HTTPError {
    switch error {
    case let error as HTTPError: return error
    case let error as URLError: return self.error(error)
    default: return .request(underlying: error)
    }
  }

  private static func error(_ error: URLError) -> HTTPError {
    switch error.code {
    case .notConnectedToInternet, .internationalRoamingOff, .dataNotAllowed, .callIsActive: return .offline
    case .timedOut: return .connectionFailed(reason: "the host does not answer")
    case .httpTooManyRedirects: return .tooManyRedirects
    case .badURL: return .invalidURL
    case .cancelled: return .refused(reason: "the session has ended")
    case .cannotFindHost, .dnsLookupFailed: return .hostNotFound
    case .cannotConnectToHost: return .connectionRefused
    case .networkConnectionLost: return .connectionLost(reason: "the server closed it")
    case .secureConnectionFailed: return .tls(.handshake)
    case .serverCertificateHasBadDate, .serverCertificateNotYetValid: return .tls(.expiredCertificate)
    case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot: return .tls(.untrustedCertificate)
    case .clientCertificateRejected, .clientCertificateRequired: return .tls(.clientCertificate)
    case .cannotDecodeContentData, .cannotDecodeRawData:
      return .protocolError(reason: "its body cannot be decompressed")
    // For a response that is not HTTP, URLSession on Linux reports an unsupported URL; the URL was checked before.
    case .unsupportedURL, .cannotParseResponse: return .protocolError(reason: "it is not HTTP")
    case .badServerResponse: return noAnswer
    // On Linux, among others libcurl's "the transfer is shorter than announced".
    case .unknown: return .connectionLost(reason: "the response is not complete")
    default: return .connectionFailed(reason: "URLSession reports error \(error.code.rawValue)")
    }
  }
}
