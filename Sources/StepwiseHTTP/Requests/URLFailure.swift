// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// URLSession's errors, without the addresses that they carry.
enum URLFailure {
  /// The connection ended and nothing had come.
  static var noAnswer: HTTPError { .request(underlying: plain(.badServerResponse, "the server gave no answer")) }

  /// Less came than was promised.
  static var tooShort: HTTPError {
    .request(underlying: plain(.networkConnectionLost, "the answer is not as long as its headers say"))
  }

  /// Part of a file came that was not asked for.
  static var wrongRange: HTTPError {
    .request(underlying: plain(.badServerResponse, "the server sent another part than it was asked for"))
  }

  /// What an error means to whoever made the request.
  static func error(_ error: any Error) -> HTTPError {
    guard let error = error as? URLError else { return .request(underlying: error) }
    switch error.code {
    case .notConnectedToInternet, .internationalRoamingOff, .dataNotAllowed, .callIsActive: return .offline
    case .timedOut: return .timedOut
    case .httpTooManyRedirects: return .tooManyRedirects
    case .badURL: return .invalidURL
    case .cancelled: return .refused(reason: "the session has ended")
    default: return .request(underlying: plain(error.code, words(for: error)))
    }
  }

  private static func words(for error: URLError) -> String {
    switch error.code {
    case .cannotConnectToHost: return "the server does not answer"
    case .cannotFindHost, .dnsLookupFailed: return "there is no such host"
    case .networkConnectionLost: return "the connection was lost"
    // URLSession on Linux says of an answer that is not HTTP's that the address is not supported, which was looked at before.
    case .badServerResponse, .cannotParseResponse, .unsupportedURL: return "the server gave no proper answer"
    default:
      // URLSession's own words, such as how many bytes are missing; never those of its other fields.
      let underlying = error.userInfo[NSUnderlyingErrorKey] as? NSError
      let words = underlying?.userInfo[NSLocalizedDescriptionKey] ?? error.userInfo[NSLocalizedDescriptionKey]
      return words as? String ?? "the exchange broke off"
    }
  }

  private static func plain(_ code: URLError.Code, _ words: String) -> URLError {
    URLError(code, userInfo: [NSLocalizedDescriptionKey: words])
  }
}
