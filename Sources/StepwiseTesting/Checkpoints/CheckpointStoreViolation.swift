// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A promise of `CheckpointStore` that a store does not keep.
public struct CheckpointStoreViolation: Error, Sendable, CustomStringConvertible {
  /// The promise.
  public let rule: String

  /// What happened instead.
  public let detail: String

  /// The promise, and what happened instead.
  public var description: String { "\(rule): \(detail)" }
}
