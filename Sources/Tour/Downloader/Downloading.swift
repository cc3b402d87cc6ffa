// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseHTTP

/// A download, in stages that may end with the process and resume in another one.
enum Downloading: Progression, Codable, Equatable {
  /// How long it waits for a server and for the next attempt.
  struct Patience: Sendable {
    var deadlines = HTTPDeadlines(headers: .seconds(30), idle: .seconds(15))
    /// The policy for attempts without a byte; after a byte has arrived, attempts are counted from one again.
    var retries = RetryPolicy(
      maxAttempts: 8,
      backoff: .exponential(from: .milliseconds(250), factor: 2, cap: .seconds(10), jitter: .full)
    )
    /// The longest delay that a server may request.
    var longestPause = Duration.seconds(60)
  }

  @TaskLocal static var patience = Patience()
  @TaskLocal static var manner = DownloadManner()
  /// Called with news about the download.
  @TaskLocal static var watcher: (@Sendable (DownloadNews) -> Void)?

  /// The download has this number of bytes and fetches more.
  case fetch(DownloadOrder, received: Int64)
  case done(DownloadOrder, byteCount: Int64)

  static func start(_ order: DownloadOrder) -> Downloading { .fetch(order, received: 0) }

  func next() async throws -> Downloading {
    switch self {
    case .fetch(let order, let received):
      let attempt = DownloadAttempt(order, received: received)
      let fetch = Step("fetch") { try await attempt.run() }
        .retry(Self.patience.retries) { error in (error as? DownloadFailure)?.isWorthAnotherAttempt ?? false }
      return try await Chain(fetch).run()
    case .done:
      return try completed()
    }
  }

  var result: Int64? {
    if case .done(_, let byteCount) = self { byteCount } else { nil }
  }
}

/// News about a download.
enum DownloadNews: Sendable {
  case progress(HTTPDownloadProgress)
  /// An attempt has failed, and another one follows.
  case waiting(because: String)
}
