// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseHTTP

/// One request for a file, or for the rest of one.
struct DownloadAttempt: Sendable {
  private let order: DownloadOrder
  /// The number of existing bytes when this attempt's stage started.
  private let known: Int64

  init(_ order: DownloadOrder, received: Int64) {
    self.order = order
    known = received
  }

  /// Returns the next stage: the download is complete, or has more bytes than before.
  ///
  /// - Throws: `DownloadFailure` when no byte was received, or no more can be.
  func run() async throws -> Downloading {
    let received = Lock(known)
    do {
      return try await request { progress in received.withLock { $0 = progress.receivedBytes } }
    } catch let failure as DownloadFailure where failure.isWorthAnotherAttempt {
      Downloading.watcher?(.waiting(because: failure.reason))
      let count = received.withLock { $0 }
      guard count > known else { throw failure }
      return .fetch(order, received: count)
    }
  }

  private func request(_ report: @escaping @Sendable (HTTPDownloadProgress) -> Void) async throws -> Downloading {
    let (manner, watcher) = (Downloading.manner, Downloading.watcher)
    let byteCount = Lock<Int64>(0)
    let response: HTTPResponse
    do {
      response = try await HTTP.download(
        order.address,
        to: URL(fileURLWithPath: order.path),
        headers: manner.headers,
        credentials: manner.credentials,
        deadlines: manner.deadlines,
        segments: manner.segments,
        sha256: order.digest
      ) { progress in
        let before = byteCount.withLock { exchange(&$0, with: progress.receivedBytes) }
        report(progress)
        watcher?(.progress(progress))
        guard let limit = manner.rateLimit else { return }
        // The download waits for this closure, and the server for the download.
        let pause = limit.pause(after: progress.receivedBytes - max(before, progress.resumedBytes))
        Thread.sleep(forTimeInterval: pause / .seconds(1))
      }
    } catch let error as HTTPError {
      throw DownloadFailure(error)
    }
    guard response.isSuccess else {
      try await wait(for: response)
      throw DownloadFailure.status(response.status)
    }
    return .done(order, byteCount: byteCount.withLock { $0 })
  }

  /// Waits as long as the server requests, up to a limit.
  private func wait(for response: HTTPResponse) async throws {
    guard DownloadFailure.status(response.status).isWorthAnotherAttempt, let pause = response.retryAfter() else {
      return
    }
    let granted = min(pause, Downloading.patience.longestPause)
    Downloading.watcher?(.waiting(because: "the server asks to wait for \(granted.components.seconds) s"))
    try await Task.sleep(for: granted)
  }
}
