// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Whom a job's handlers belong to, without keeping it alive.
final class JobOwner: Sendable {
  private let id: ObjectIdentifier
  // Proof: nothing of the owner is ever used but whether it is there. Where reading the reference could make the last
  // release of the owner, that is on the main actor, as it would be with a screen's own.
  private nonisolated(unsafe) weak let owner: AnyObject?

  init(_ owner: AnyObject) {
    id = ObjectIdentifier(owner)
    self.owner = owner
  }

  @MainActor var isAlive: Bool { owner != nil }

  /// Whether an object is the owner, and not another one in its place in memory.
  func isSame(_ object: AnyObject) -> Bool { ObjectIdentifier(object) == id && owner === object }
}
