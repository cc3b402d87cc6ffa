// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How far a download is.
public struct HTTPDownloadProgress: Sendable, Hashable {
  /// How many bytes are in the file by now, those of an earlier attempt included.
  public let receivedBytes: Int64

  /// How many bytes there will be; nil when the server does not say.
  public let totalBytes: Int64?

  /// How many of the bytes an earlier attempt has left.
  public let resumedBytes: Int64

  /// Creates one, for tests of code that shows some.
  public init(receivedBytes: Int64, totalBytes: Int64?, resumedBytes: Int64 = 0) {
    self.receivedBytes = receivedBytes
    self.totalBytes = totalBytes
    self.resumedBytes = resumedBytes
  }

  /// How much of it is there, from 0 to 1; nil when the total is not known.
  public var fractionCompleted: Double? {
    totalBytes.map { $0 > 0 ? min(1, Double(receivedBytes) / Double($0)) : 1 }
  }
}
