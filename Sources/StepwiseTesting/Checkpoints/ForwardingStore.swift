// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

package import StepwiseCheckpoints

/// A store that changes some calls of another one.
package protocol ForwardingStore: CheckpointStore {
  var base: any CheckpointStore { get }

  /// Performs a call of the base store, which may suspend.
  func call<Value: Sendable>(
    _ name: String,
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value

  /// Performs a write of an id; the entry is nil when it replaces the record.
  func write(_ entry: [UInt8]?, of id: String, _ write: () async throws -> Void) async throws
}

extension ForwardingStore {
  package func call<Value: Sendable>(
    _ name: String,
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await body()
  }

  package func write(_ entry: [UInt8]?, of id: String, _ write: () async throws -> Void) async throws {
    try await write()
  }

  @concurrent package func acquire(_ id: String) async throws -> CheckpointLease {
    try await call("acquire") { try await base.acquire(id) }
  }
  @concurrent package func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
    try await call("renew") { try await base.renew(lease) }
  }
  @concurrent package func release(_ lease: CheckpointLease) async throws {
    try await call("release") { try await base.release(lease) }
  }
  package func releaseWithoutWaiting(_ lease: CheckpointLease) { base.releaseWithoutWaiting(lease) }
  @concurrent package func load(_ id: String) async throws -> CheckpointRecord? {
    try await call("load") { try await base.load(id) }
  }
  @concurrent package func remove(_ id: String) async throws {
    try await call("remove") { try await base.remove(id) }
  }
  @concurrent package func list(after last: String?, limit: Int) async throws -> CheckpointPage {
    try await call("list") { try await base.list(after: last, limit: limit) }
  }
  @concurrent package func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws {
    try await write(nil, of: lease.id) {
      try await call("save") { try await base.save(record, ifVersionIs: version, under: lease) }
    }
  }
  @concurrent package func append(
    _ entry: [UInt8],
    ifVersionIs version: UInt64,
    under lease: CheckpointLease
  ) async throws {
    try await write(entry, of: lease.id) {
      try await call("append") { try await base.append(entry, ifVersionIs: version, under: lease) }
    }
  }
  package func location(of id: String) -> String { base.location(of: id) }
}
