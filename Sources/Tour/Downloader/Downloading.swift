// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseHTTP

/// A download, in stages that may end with the process and go on in another one.
enum Downloading: Progression, Codable, Equatable {
  /// How long it waits for a server and for the next attempt.
  struct Patience: Sendable {
    var deadlines = HTTPDeadlines(headers: .seconds(30), idle: .seconds(15))
    /// Of attempts that bring nothing: as soon as something has come, they are counted from one again.
    var retries = RetryPolicy(
      maxAttempts: 8,
      backoff: .exponential(from: .milliseconds(250), factor: 2, cap: .seconds(10), jitter: .full)
    )
    /// The longest wait that a server is granted.
    var longestPause = Duration.seconds(60)
  }

  @TaskLocal static var patience = Patience()
  /// Is told what happens while something is downloaded.
  @TaskLocal static var watcher: (@Sendable (DownloadNews) -> Void)?

  /// Bytes are to be fetched; so many are there.
  case fetch(DownloadOrder, received: Int64)
  /// All bytes are there; whether they are the right ones is not known yet.
  case verify(DownloadOrder, byteCount: Int64)
  case done(DownloadOrder, byteCount: Int64)

  static func start(_ order: DownloadOrder) -> Downloading { .fetch(order, received: 0) }

  func next() async throws -> Downloading {
    switch self {
    case .fetch(let order, let received):
      let attempt = DownloadAttempt(order, received: received)
      let fetch = Step("fetch") { try await attempt.run() }
        .retry(Self.patience.retries) { error in (error as? DownloadFailure)?.isWorthAnotherAttempt ?? false }
      return try await Chain(fetch).run()
    case .verify(let order, let byteCount):
      if let digest = order.digest { try Self.verify(order, digest) }
      return .done(order, byteCount: byteCount)
    case .done:
      return try completed()
    }
  }

  var result: Int64? {
    if case .done(_, let byteCount) = self { byteCount } else { nil }
  }

  /// Compares the digest of what came with what it has to be.
  ///
  /// A file that is another one is removed: nothing in it can be gone on from.
  private static func verify(_ order: DownloadOrder, _ digest: String) throws {
    watcher?(.verifying)
    var sum = SHA256()
    do throws(FileError) {
      let file = try OpenFile.reading(order.path)
      while !Task.isCancelled, let bytes = try file.read(upTo: 1 << 18) { sum.update(bytes) }
    } catch {
      throw DownloadFailure.lost(error)
    }
    try Task.checkCancellation()
    let found = sum.hex()
    guard found != digest else { return }
    try FileManager.default.removeItem(atPath: order.path)
    throw DownloadFailure.wrongDigest(found)
  }
}

/// What happens while something is downloaded.
enum DownloadNews: Sendable {
  case progress(HTTPDownloadProgress)
  /// An attempt has failed, and there will be another.
  case waiting(because: String)
  case verifying
}
