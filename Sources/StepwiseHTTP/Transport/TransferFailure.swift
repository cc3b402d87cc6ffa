// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The errors of transfers, without the URLs that URLSession's errors contain.
package enum TransferFailure {
  /// The connection ended before any response arrived.
  package static var noAnswer: HTTPError { .connectionLost(reason: "the server closed it without a response") }

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
