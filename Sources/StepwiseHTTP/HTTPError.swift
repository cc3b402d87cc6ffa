// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Why a request has no answer.
///
/// A status is never an error, whatever it is, and neither is a cancellation: that throws `CancellationError`. No error
/// holds the address or the headers of a request, so that no credentials are found in it.
public enum HTTPError: Error, Sendable {
  /// There is no network.
  case offline

  /// One of the request's deadlines has passed.
  case timedOut

  /// More redirects than the ten that are followed; most often a loop.
  case tooManyRedirects

  /// The address is none, has no host, or is not of `http` or `https`.
  case invalidURL

  /// The request cannot be made as it is, for this reason; nothing was sent.
  case refused(reason: String)

  /// The exchange with the server, or writing what it sent, failed.
  case request(underlying: any Error)
}

extension HTTPError: Equatable {
  /// Errors are equal when their cases are; what is underneath does not count.
  public static func == (left: HTTPError, right: HTTPError) -> Bool {
    switch (left, right) {
    case (.offline, .offline), (.timedOut, .timedOut), (.tooManyRedirects, .tooManyRedirects),
      (.invalidURL, .invalidURL),
      (.refused, .refused), (.request, .request):
      true
    default: false
    }
  }
}

extension HTTPError: CustomStringConvertible {
  /// What went wrong, in one line.
  public var description: String {
    switch self {
    case .offline: "there is no network"
    case .timedOut: "the request took longer than its deadlines allow"
    case .tooManyRedirects: "the server redirected too often"
    case .invalidURL: "the address is not a complete one of http or https"
    case .refused(let reason): "the request cannot be made: \(reason)"
    case .request(let underlying): "the request failed: \(underlying)"
    }
  }
}
