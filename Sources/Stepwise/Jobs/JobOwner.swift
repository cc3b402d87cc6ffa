// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Whom a job's handlers belong to, without keeping it alive.
final class JobOwner: Sendable {
  private let id: ObjectIdentifier
  // Proof: only whether it is there is ever used; where a read could release it last, that is on the main actor.
  private nonisolated(unsafe) weak let owner: AnyObject?

  init(_ owner: AnyObject) {
    id = ObjectIdentifier(owner)
    self.owner = owner
  }

  @MainActor var isAlive: Bool { owner != nil }

  /// Whether an object is the owner, and not another one in its place in memory.
  func isSame(_ object: AnyObject) -> Bool { ObjectIdentifier(object) == id && owner === object }
}
