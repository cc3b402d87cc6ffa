// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The right to save under an id, which one run has at a time.
public struct CheckpointLease: Sendable, Hashable {
  /// The id.
  public let id: String

  /// The fencing number: higher than that of every earlier lease of the id, so that a late save can be told apart.
  public let fence: UInt64

  /// How long the lease lasts from when it was taken or renewed; nil when it ends with its holder alone.
  ///
  /// A run renews the lease each time a third of it has passed, and more often while the store cannot be reached. The lease
  /// is lost when its duration has passed since the last successful renewal, or when the store throws
  /// ``CheckpointError/lostLease(id:location:)``; then the stage in progress is cancelled, and the run throws that error.
  public let duration: Duration?

  /// Makes a lease, as a store does.
  ///
  /// - Parameters:
  ///   - id: The id.
  ///   - fence: The fencing number.
  ///   - duration: How long the lease lasts by itself; nil when it ends with its holder alone.
  public init(id: String, fence: UInt64, duration: Duration? = nil) {
    self.id = id
    self.fence = fence
    self.duration = duration
  }
}
