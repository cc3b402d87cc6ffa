// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Foundation
internal import Stepwise
internal import StepwiseHTTP

#if canImport(FoundationNetworking)
  internal import FoundationNetworking
#endif

/// A request without a response.
@available(*, deprecated, message: "Use HTTPError of StepwiseHTTP")
// Safety: both properties are constants, and the subclass adds none.
public class RequestError: Error, CustomStringConvertible, @unchecked Sendable {
  /// The number that URLSession has for what went wrong, as `NSURLErrorCannotConnectToHost`, that is -1004.
  @available(*, deprecated, message: "Use the code of the URLError that HTTPError.request of StepwiseHTTP has")
  public let code: Int

  /// What went wrong, in one line.
  public let description: String

  init(code: Int, description: String) {
    self.code = code
    self.description = description
  }
}

/// A request that was not sent, since there is no network.
@available(*, deprecated, message: "Use HTTPError.offline of StepwiseHTTP")
// Safety: it has no properties but the constants that it inherits.
public final class OfflineError: RequestError, @unchecked Sendable {
  /// Creates an error, for tests of code that handles some.
  @available(*, deprecated, message: "Use HTTPError.offline of StepwiseHTTP")
  public init() { super.init(code: URLError.Code.notConnectedToInternet.rawValue, description: "there is no network") }
}

/// A task that took longer than allowed.
@available(*, deprecated, message: "Use onTimeout(_:) of Job")
public struct TimeoutError: Error, CustomStringConvertible {
  /// The number that URLSession has for it.
  @available(*, deprecated, message: "Use onTimeout(_:) of Job")
  public let code: Int

  /// What took too long.
  public let description: String

  /// Creates an error, for tests of code that handles some.
  @available(*, deprecated, message: "Use TimeoutError of Stepwise")
  public init() { self.init("it took longer than allowed") }

  init(_ description: String) {
    self.description = description
    code = URLError.Code.timedOut.rawValue
  }
}

/// What is thrown within a task that was cancelled.
@available(*, deprecated, message: "Use CancellationError")
public struct CancelledError: Error, CustomStringConvertible {
  /// What happened.
  public var description: String { "the task was cancelled" }

  /// Creates an error, for work that ends itself when it sees that it was cancelled.
  @available(*, deprecated, message: "Use CancellationError()")
  public init() {}
}

/// The errors of Stepwise and StepwiseHTTP, as Elevate calls them.
@available(*, deprecated)
package enum ElevateErrors {
  package static func old(_ error: any Error) -> any Error {
    switch error {
    case let error as Stepwise.TimeoutError: TimeoutError(error.description)
    case let error as HTTPError: old(error)
    default: error
    }
  }

  private static func old(_ error: HTTPError) -> any Error {
    let code: URLError.Code
    switch error {
    case .offline: return OfflineError()
    case .timedOut: code = .timedOut
    case .tooManyRedirects: code = .httpTooManyRedirects
    case .invalidURL: code = .badURL
    case .hostNotFound: code = .cannotFindHost
    case .connectionRefused, .connectionFailed, .proxy: code = .cannotConnectToHost
    case .connectionLost: code = .networkConnectionLost
    case .tls(.untrustedCertificate), .tls(.wrongHost), .tls(.pinMismatch): code = .serverCertificateUntrusted
    case .tls(.expiredCertificate): code = .serverCertificateHasBadDate
    case .tls(.clientCertificate): code = .clientCertificateRequired
    case .tls(.handshake): code = .secureConnectionFailed
    case .protocolError: code = .cannotParseResponse
    case .headersTooLarge, .bodyTooLarge: code = .dataLengthExceedsMaximum
    case .refused, .checksumMismatch: code = .unknown
    case .request(let underlying): code = (underlying as? URLError)?.code ?? .unknown
    }
    return RequestError(code: code.rawValue, description: error.description)
  }
}
