// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The owner of a job's handlers, which is not retained.
final class JobOwner: Sendable {
  private let id: ObjectIdentifier
  // Safety: only its existence is checked; a read that may release it last happens on the main actor.
  private nonisolated(unsafe) weak let owner: AnyObject?

  init(_ owner: AnyObject) {
    id = ObjectIdentifier(owner)
    self.owner = owner
  }

  @MainActor var isAlive: Bool { owner != nil }

  /// Returns whether an object is the owner, and not a later one at the same address.
  func isSame(_ object: AnyObject) -> Bool { ObjectIdentifier(object) == id && owner === object }
}
