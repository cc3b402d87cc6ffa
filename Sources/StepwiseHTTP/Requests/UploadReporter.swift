// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Stepwise

/// The progress of sending a request's body.
public struct HTTPUploadProgress: Sendable, Hashable {
  /// The number of bytes that the network has accepted.
  public let sentBytes: Int64

  /// The number of bytes of the body; nil when it is unknown.
  public let totalBytes: Int64?

  /// Creates a value, for tests of code that uses one.
  public init(sentBytes: Int64, totalBytes: Int64?) {
    self.sentBytes = sentBytes
    self.totalBytes = totalBytes
  }

  /// The sent fraction, from 0 to 1; nil when the total is unknown.
  public var fractionCompleted: Double? {
    totalBytes.map { $0 > 0 ? min(1, Double(sentBytes) / Double($0)) : 1 }
  }
}

/// Calls the progress closure of an upload, one call at a time, on a separate queue.
///
/// The transport's thread never waits for the closure. After a long call, the next one receives the latest progress.
final class UploadReporter: Sendable {
  private struct State {
    var latest: Int64?
    var isCalling = false
    var isClosed = false

    mutating func report(_ sent: Int64) -> Bool {
      guard !isClosed else { return false }
      latest = sent
      return !exchange(&isCalling, with: true)
    }

    mutating func next() -> Int64? {
      if latest == nil || isClosed { isCalling = false }
      return isClosed ? nil : latest.take()
    }
  }

  private let total: Int64?
  private let watcher: @Sendable (HTTPUploadProgress) -> Void
  private let queue = DispatchQueue(label: "StepwiseHTTP.upload")
  private let state = Lock(State())

  init(total: Int64?, watcher: @escaping @Sendable (HTTPUploadProgress) -> Void) {
    self.total = total
    self.watcher = watcher
  }

  func report(_ sent: Int64) {
    guard state.withLock({ $0.report(sent) }) else { return }
    queue.async { [self] in
      while let sent = state.withLock({ $0.next() }) {
        watcher(HTTPUploadProgress(sentBytes: sent, totalBytes: total))
      }
    }
  }

  /// Waits until the closure has been called with the latest progress, or the Task is cancelled.
  nonisolated(nonsending) func flush() async {
    let isReached = Once<Bool>()
    queue.async { isReached.settle(true) }
    if await isReached.value() == nil { close() }
  }

  /// Prevents further calls.
  func close() { state.withLock { $0.isClosed = true } }
}
