// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// Where the body of an answer goes that is not to be kept in memory.
protocol BodySink: Sendable {
  /// Looks at the head of the answer; returns whether the body is for the sink.
  func begin(_ head: ResponseHead) throws -> Bool

  /// Takes the next piece of the body.
  func write(_ data: Data) throws
}
