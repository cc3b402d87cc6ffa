// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
