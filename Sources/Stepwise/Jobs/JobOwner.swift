// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Whom a job's handlers belong to, without keeping it alive.
struct JobOwner: Sendable {
  let isAlive: @MainActor () -> Bool
  /// Whether an object is the owner.
  let isSame: @Sendable (AnyObject) -> Bool

  init(_ owner: some AnyObject & Sendable) {
    isAlive = { [weak owner] in owner != nil }
    isSame = { [weak owner] object in object === owner }
  }

  /// An owner that may be touched on the main actor only.
  @MainActor init(onMainActor owner: AnyObject) {
    let box = Box(owner)
    let id = ObjectIdentifier(owner)
    isAlive = { box.owner != nil }
    isSame = { object in ObjectIdentifier(object) == id }
  }

  @MainActor private final class Box {
    weak var owner: AnyObject?

    init(_ owner: AnyObject) {
      self.owner = owner
    }
  }
}
