// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The exclusive right of one run to save under an id.
public struct CheckpointLease: Sendable, Hashable {
  /// The id.
  public let id: String

  /// The fencing number: higher than that of every earlier lease of the id, so that a late save can be detected.
  public let fence: UInt64

  /// How long the lease lasts after it was acquired or renewed; nil when it ends only with its holder.
  ///
  /// A run renews the lease whenever a third of its duration has passed, and more often while the store is unreachable.
  /// The lease is lost when its duration has passed since the last successful renewal, or when the store throws
  /// ``CheckpointError/lostLease(id:location:)``. Then the stage in progress is cancelled, and the run throws that
  /// error.
  public let duration: Duration?

  /// The id, parsed; nil when it is not valid.
  package let key: CheckpointID?

  /// Creates a lease; called by stores.
  ///
  /// - Parameters:
  ///   - id: The id.
  ///   - fence: The fencing number.
  ///   - duration: How long the lease lasts without a renewal; nil when it ends only with its holder.
  public init(id: String, fence: UInt64, duration: Duration? = nil) {
    self.id = id
    self.fence = fence
    self.duration = duration
    key = try? CheckpointID(id)
  }

  package init(_ key: CheckpointID, fence: UInt64, duration: Duration? = nil) {
    id = key.text
    self.fence = fence
    self.duration = duration
    self.key = key
  }
}
