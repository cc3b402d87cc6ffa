// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The progress of a download.
public struct HTTPDownloadProgress: Sendable, Hashable {
  /// The number of bytes in the file, including those of an earlier attempt.
  public let receivedBytes: Int64

  /// The total number of bytes; nil when the server does not send it.
  public let totalBytes: Int64?

  /// The number of bytes of an earlier attempt.
  public let resumedBytes: Int64

  /// Creates a value, for tests of code that uses one.
  public init(receivedBytes: Int64, totalBytes: Int64?, resumedBytes: Int64 = 0) {
    self.receivedBytes = receivedBytes
    self.totalBytes = totalBytes
    self.resumedBytes = resumedBytes
  }

  /// The completed fraction, from 0 to 1; nil when the total is unknown.
  public var fractionCompleted: Double? {
    totalBytes.map { $0 > 0 ? min(1, Double(receivedBytes) / Double($0)) : 1 }
  }
}
