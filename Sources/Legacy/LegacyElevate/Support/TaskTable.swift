// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// The tasks that objects have declared by name, for as long as these objects live.
enum TaskTable {
  private static let entries = Lock(State())

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    /// How many entries there may be before those of objects that are gone are looked for.
    var limit = 16
  }

  private struct Entry: Sendable {
    let owner: Owner
    var definitions: [String: TaskDefinition] = [:]
  }

  /// An object, without keeping it alive.
  private final class Owner: Sendable {
    // Safety: nothing of the object is ever used but whether it is there.
    private nonisolated(unsafe) weak let object: AnyObject?

    init(_ object: AnyObject) { self.object = object }

    func isSame(_ other: AnyObject) -> Bool { object === other }
    var isGone: Bool { object == nil }
  }

  static func declare(_ definition: TaskDefinition, by owner: AnyObject) {
    // Released outside the lock, because blocks may retain anything.
    let gone: [Entry] = entries.withLock { state in
      var gone: [Entry] = []
      let id = ObjectIdentifier(owner)
      if let entry = state.entries[id], !entry.owner.isSame(owner) { gone.append(entry) }
      var entry = gone.isEmpty ? state.entries[id] ?? Entry(owner: Owner(owner)) : Entry(owner: Owner(owner))
      let old = entry.definitions.updateValue(definition, forKey: definition.name)
      if let old { gone.append(Entry(owner: entry.owner, definitions: [old.name: old])) }
      state.entries[id] = entry
      guard state.entries.count > state.limit else { return gone }
      gone += state.entries.values.filter { $0.owner.isGone }
      state.entries = state.entries.filter { !$0.value.owner.isGone }
      state.limit = max(16, state.entries.count * 2)
      return gone
    }
    withExtendedLifetime(gone) {}
  }

  static func definition(_ name: String, of owner: AnyObject) -> TaskDefinition? {
    definitions(of: owner)[name]
  }

  static func definitions(of owner: AnyObject) -> [String: TaskDefinition] {
    let entry = entries.withLock { $0.entries[ObjectIdentifier(owner)] }
    guard let entry, entry.owner.isSame(owner) else { return [:] }
    return entry.definitions
  }

  /// How many objects have declared tasks, those aside that are known to be gone.
  static var count: Int { entries.withLock { $0.entries.count } }
}
