// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A response with a status other than 200 to 299, where ``HTTPResponse/requireSuccess()`` requires one.
///
/// Requests do not throw this error.
public struct HTTPStatusError: Error, Sendable {
  /// The response.
  public let response: HTTPResponse

  /// The status of the response.
  public var status: Int { response.status }

  /// How long the server asks to wait before the next attempt; nil when it does not say.
  ///
  /// A `RetryPolicy` waits as long by `RetryPolicy(…) { error, _ in (error as? HTTPStatusError)?.retryAfter }`.
  public var retryAfter: Duration? { response.retryAfter() }

  /// Creates an error, for tests of code that handles one.
  public init(response: HTTPResponse) { self.response = response }
}

extension HTTPStatusError: CustomStringConvertible, LocalizedError {
  /// The status and its meaning.
  ///
  /// The headers and the body are left out: they may contain secrets.
  public var description: String {
    "The server responded with status \(status) (\(HTTPURLResponse.localizedString(forStatusCode: status).lowercased()))."
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
