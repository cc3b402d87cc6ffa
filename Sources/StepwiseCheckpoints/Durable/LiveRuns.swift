// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The durable runs in progress in this process.
enum LiveRuns {
  private struct Entry: Sendable {
    let id: String
    /// The name of the chain.
    let name: String
    let location: String
    let store: ObjectIdentifier?
    let run: DurableRun
  }

  private static let runs = Lock([ObjectIdentifier: Entry]())

  static func add(_ run: DurableRun, id: String, of name: String, store: any CheckpointStore) {
    let entry = Entry(id: id, name: name, location: store.location(of: id), store: identity(of: store), run: run)
    runs.withLock { $0[ObjectIdentifier(run)] = entry }
  }

  static func remove(_ run: DurableRun) { _ = runs.withLock { $0.removeValue(forKey: ObjectIdentifier(run)) } }

  /// Returns the run of a chain that holds an id in a store, or in another one over the same directory.
  static func find(_ id: String, of name: String, store: any CheckpointStore) -> DurableRun? {
    let (location, identity) = (store.location(of: id), identity(of: store))
    return runs.withLock { runs in
      runs.values.first { entry in
        guard entry.id.utf8.elementsEqual(id.utf8), entry.name == name else { return false }
        return identity != nil && entry.store == identity || location.hasPrefix("/") && entry.location == location
      }?.run
    }
  }

  private static func identity(of store: any CheckpointStore) -> ObjectIdentifier? {
    type(of: store) is AnyClass ? ObjectIdentifier(store as AnyObject) : nil
  }
}
