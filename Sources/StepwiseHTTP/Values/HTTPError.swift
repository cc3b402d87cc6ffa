// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation
import StepwiseFiles

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// An error of a request without a response.
///
/// Catch it to tell your user what to do: go online, or try again. A status is never an error, and neither is
/// cancellation, which throws `CancellationError`. No error contains the URL or the headers of a request, a host or a
/// password.
///
/// Further cases may be added, so end a `switch` over it with `default`.
public enum HTTPError: Error, Sendable, CustomStringConvertible, LocalizedError, Equatable {
  /// This machine has no network.
  case offline
  /// One of the request's deadlines has passed.
  case timedOut(HTTPDeadlines.Kind)
  /// The host's name is not known.
  case hostNotFound
  /// The host refuses the connection: nothing listens on that port.
  case connectionRefused
  /// The connection cannot be opened, for this reason.
  case connectionFailed(reason: String)
  /// The connection ended before the response was complete.
  case connectionLost(reason: String)
  /// The connection cannot be secured.
  case tls(HTTPTLSFailure)
  /// The proxy cannot be reached, or does not let the request through.
  case proxy(reason: String)
  /// The response is not valid HTTP.
  case protocolError(reason: String)
  /// The head of the response exceeds this number of bytes.
  case headersTooLarge(limit: Int)
  /// The body of the response exceeds this number of bytes.
  case bodyTooLarge(limit: Int)
  /// The server redirected more than ten times, which usually indicates a loop.
  case tooManyRedirects
  /// The URL is malformed, has no host, or is not of `http` or `https`.
  case invalidURL
  /// The request cannot be sent as it is, for this reason.
  case refused(reason: String)
  /// A downloaded file does not have the required checksum and was discarded.
  ///
  /// Both are in lowercase hexadecimal.
  case checksumMismatch(expected: String, found: String)
  /// Another operation failed, such as writing a file, or the source of a body.
  case request(underlyingError: any Error)

  /// Another operation failed.
  @available(*, deprecated, renamed: "request(underlyingError:)")
  public static func request(underlying: any Error) -> HTTPError { .request(underlyingError: underlying) }

  /// What went wrong and how to fix it, in one line.
  public var description: String {
    switch self {
    case .offline: "this machine has no network"
    case .timedOut(let deadline): deadline.description
    case .hostNotFound: "the host is not known; check its name, and the name server of this machine"
    case .connectionRefused: "the host refuses the connection; check that a server is running, and its port"
    case .connectionFailed(let reason): "the connection cannot be opened: \(reason)"
    case .connectionLost(let reason): "the connection was lost: \(reason)"
    case .tls(let failure): failure.description
    case .proxy(let reason): "the proxy does not let the request through: \(reason)"
    case .protocolError(let reason): "the response is not valid: \(reason)"
    case .headersTooLarge(let limit): "the headers of the response are larger than \(limit) bytes"
    case .bodyTooLarge(let limit):
      "the body of the response is larger than \(limit) bytes; raise the limit, or use `stream` or `download`"
    case .tooManyRedirects: "the server redirected more than ten times"
    case .invalidURL: "the URL is malformed, has no host, or is not of http or https"
    case .refused(let reason): "the request cannot be sent: \(reason)"
    case .checksumMismatch(let expected, let found):
      "the file's SHA-256 is \(found) instead of \(expected); the file was discarded"
    case .request(let underlying): "the request failed: \(underlying)"
    }
  }

  /// The description.
  public var errorDescription: String? { description }

  /// Returns a Boolean value that indicates whether two errors are of the same case.
  ///
  /// Of the associated values only those of `timedOut` and `tls` count.
  public static func == (left: HTTPError, right: HTTPError) -> Bool {
    switch (left, right) {
    case (.timedOut(let left), .timedOut(let right)): left == right
    case (.tls(let left), .tls(let right)): left == right
    default: left.name == right.name
    }
  }

  /// The name of the case; the description of one without associated values.
  private var name: String { Mirror(reflecting: self).children.first?.label ?? description }

  /// The connection ended before any response arrived.
  package static var noAnswer: HTTPError { .connectionLost(reason: "the server closed it without a response") }

  /// Fewer bytes arrived than were announced.
  package static var tooShort: HTTPError { .connectionLost(reason: "the response is not as long as its headers say") }

  /// A different part of the file arrived than was requested.
  static var wrongRange: HTTPError { .protocolError(reason: "it has another part of the file than was requested") }

  /// Converts an error for the caller, without the URL or the path in it.
  package init(_ error: any Error) {
    switch error {
    case let error as HTTPError: self = error
    case let error as URLError: self.init(error.code)
    case let error as FileFailure:
      self = .request(underlyingError: POSIXError(POSIXError.Code(rawValue: error.code) ?? .EIO))
    default: self = .request(underlyingError: error)
    }
  }

  private init(_ code: URLError.Code) {
    switch code {
    case .notConnectedToInternet, .internationalRoamingOff, .dataNotAllowed, .callIsActive: self = .offline
    case .timedOut: self = .connectionFailed(reason: "the host does not answer")
    case .httpTooManyRedirects: self = .tooManyRedirects
    case .badURL: self = .invalidURL
    case .cancelled: self = .refused(reason: "the session has ended")
    case .cannotFindHost, .dnsLookupFailed: self = .hostNotFound
    case .cannotConnectToHost: self = .connectionRefused
    case .networkConnectionLost: self = .connectionLost(reason: "the server closed it")
    case .secureConnectionFailed: self = .tls(.handshake)
    case .serverCertificateHasBadDate, .serverCertificateNotYetValid: self = .tls(.expiredCertificate)
    case .serverCertificateUntrusted, .serverCertificateHasUnknownRoot: self = .tls(.untrustedCertificate)
    case .clientCertificateRejected, .clientCertificateRequired: self = .tls(.clientCertificate)
    case .cannotDecodeContentData, .cannotDecodeRawData:
      self = .protocolError(reason: "its body cannot be decompressed")
    // For a response that is not HTTP, URLSession on Linux reports an unsupported URL; the URL was checked before.
    case .unsupportedURL, .cannotParseResponse: self = .protocolError(reason: "it is not HTTP")
    case .badServerResponse: self = .noAnswer
    // On Linux, among others libcurl's "the transfer is shorter than announced".
    case .unknown: self = .connectionLost(reason: "the response is not complete")
    default: self = .connectionFailed(reason: "URLSession reports error \(code.rawValue)")
    }
  }
}

/// The reason why a connection cannot be secured.
///
/// You find it in the error of a request to a server that your system does not trust. Further cases may be added, so
/// end a `switch` over it with `default`.
public enum HTTPTLSFailure: Sendable, Hashable, CustomStringConvertible {
  /// The server's certificate is self-signed, or of an untrusted authority.
  case untrustedCertificate
  /// The server's certificate has expired, or is not valid yet.
  case expiredCertificate
  /// The server's certificate is for another host.
  case wrongHost
  /// The server's public key does not match any pin.
  case pinMismatch
  /// The server requests a client certificate or rejects yours, or your certificate cannot be read.
  case clientCertificate
  /// Client and server have no protocol in common, or one of them ended the handshake.
  case handshake

  /// What went wrong and how to fix it, in one line.
  public var description: String {
    switch self {
    case .untrustedCertificate:
      "the server's certificate is self-signed or of an unknown authority; add the authority's file to `HTTPTLSSettings`"
    case .expiredCertificate:
      "the server's certificate has expired or is not valid yet; check the clock of this machine"
    case .wrongHost: "the server's certificate is for another host"
    case .pinMismatch: "the server's public key does not match any pin"
    case .clientCertificate:
      "the client certificate is missing, unreadable or not accepted; check the one in `HTTPTLSSettings`"
    case .handshake: "the TLS handshake failed; check that the port speaks TLS"
    }
  }
}
