// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise

/// The attempts of one request: decides after each whether there is another, and when.
struct RetrySchedule {
  private static let idempotent: Set<String> = ["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "TRACE"]

  private let retry: HTTPRetry
  private let mayRepeat: Bool
  private var failures = 0
  /// The request, with a key of its own if it needs one.
  let request: OutgoingRequest

  init(_ retry: HTTPRetry, _ request: OutgoingRequest) {
    var request = request
    var isSafe = Self.idempotent.contains(request.method) || request.headers["Idempotency-Key"] != nil
    if !isSafe, retry.addsIdempotencyKey {
      request.headers["Idempotency-Key"] = UUID().uuidString
      isSafe = true
    }
    self.retry = retry
    self.request = request
    mayRepeat = isSafe && request.isRepeatable
  }

  /// Returns the wait before the next attempt; nil when the response is the result.
  mutating func wait(after status: Int, _ headers: HTTPHeaders, elapsed: Duration) -> Duration? {
    guard retry.statuses.contains(status) else { return nil }
    guard let granted = headers.retryAfter(now: Date()) else { return wait(elapsed: elapsed) }
    guard granted <= retry.longestWait else { return nil }
    return wait(elapsed: elapsed, atLeast: granted)
  }

  /// Returns the wait before the next attempt; nil when the error is the result.
  mutating func wait(after error: any Error, elapsed: Duration) -> Duration? {
    switch error as? HTTPError {
    case .connectionRefused, .connectionFailed, .connectionLost, .timedOut(.headers), .timedOut(.idle):
      wait(elapsed: elapsed)
    default: nil
    }
  }

  private mutating func wait(elapsed: Duration, atLeast least: Duration? = nil) -> Duration? {
    failures += 1
    guard mayRepeat, failures < retry.policy.maxAttempts else { return nil }
    var generator = SystemRandomNumberGenerator()
    let wait = least ?? retry.policy.backoff.delay(afterFailures: failures, using: &generator)
    if let limit = retry.policy.maxElapsed, wait > limit - elapsed { return nil }
    return wait
  }
}
