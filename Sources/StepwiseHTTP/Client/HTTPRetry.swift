// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
public import Stepwise

/// Retries the failed requests of a client that are safe to send again.
///
/// ```swift
/// client.retry = HTTPRetry()
/// ```
///
/// Only a request that may arrive twice is repeated: one whose method is idempotent (`GET`, `HEAD`,
/// `OPTIONS`, `PUT`, `DELETE`, `TRACE`), or one with the header `Idempotency-Key`. A request whose body can be read
/// once is not repeated. A request is repeated
///
/// - after one of ``statuses``, when the server's `Retry-After` has passed, or without one the policy's wait;
/// - when the connection was refused, could not be opened or was lost, and after each deadline but
///   `total`.
///
/// After the last attempt its response is returned, or its error is thrown. Cancellation ends the wait at once.
public struct HTTPRetry: Sendable {
  /// The number of attempts, and the wait between them.
  ///
  /// Waits are measured by the clock of the request's deadlines.
  public var policy: RetryPolicy

  /// The statuses after which a request is repeated.
  public var statuses: Set<Int>

  /// The maximum wait that a server may request; with a longer `Retry-After` its response is returned.
  public var longestWait: Duration

  /// A Boolean value that indicates whether requests that are not idempotent get an `Idempotency-Key`.
  ///
  /// All attempts have the same one. The server has to support it; otherwise it may process a request twice.
  public var addsIdempotencyKey: Bool

  /// Creates retry rules.
  ///
  /// - Parameters:
  ///   - policy: The number of attempts, and the wait between them.
  ///   - statuses: The statuses after which a request is repeated.
  ///   - longestWait: The maximum wait that a server may request.
  ///   - addsIdempotencyKey: Whether requests that are not idempotent get an `Idempotency-Key`.
  public init(
    policy: RetryPolicy = RetryPolicy(
      maxAttempts: 4,
      backoff: .exponential(from: .milliseconds(250), cap: .seconds(10))
    ),
    statuses: Set<Int> = [429, 503],
    longestWait: Duration = .seconds(60),
    addsIdempotencyKey: Bool = false
  ) {
    self.policy = policy
    self.statuses = statuses
    self.longestWait = longestWait
    self.addsIdempotencyKey = addsIdempotencyKey
  }
}

extension HTTPRetry {
  /// The policy, in which the server's `Retry-After` precedes the backoff.
  var effectivePolicy: RetryPolicy {
    var result = policy
    result.delay = { [own = policy.delay] error, attempt in
      (error as? HTTPStatusError)?.retryAfter ?? own?(error, attempt)
    }
    return result
  }

  /// Returns the request with a key of its own if it needs one.
  func prepared(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    if addsIdempotencyKey, !request.isIdempotent { request.headers["Idempotency-Key"] = UUID().uuidString }
    return request
  }

  /// Returns whether a request is sent again after an error.
  func repeats(_ request: HTTPRequest, after error: any Error) -> Bool {
    guard request.isIdempotent, request.body?.isRepeatable ?? true else { return false }
    if let error = error as? HTTPStatusError { return (error.retryAfter ?? .zero) <= longestWait }
    switch error as? HTTPError {
    case .connectionRefused, .connectionFailed, .connectionLost: return true
    case .timedOut(let deadline): return deadline != .total
    default: return false
    }
  }
}
