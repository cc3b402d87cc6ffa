// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A guarantee of `CheckpointStore` that a store violates.
public struct CheckpointStoreViolation: Error, Sendable, CustomStringConvertible {
  /// The guarantee.
  public let rule: String

  /// What happened instead.
  public let detail: String

  /// The guarantee, and what happened instead.
  public var description: String { "\(rule): \(detail)" }
}
