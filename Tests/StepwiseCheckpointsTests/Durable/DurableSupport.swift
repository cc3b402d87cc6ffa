// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints

/// What happened outside of a run, in order.
final class Ledger: Sendable {
  private let state = Lock([String]())

  var lines: [String] { state.withLock { $0 } }

  func add(_ line: String) { state.withLock { $0.append(line) } }
  func count(_ line: String) -> Int { lines.count { $0 == line } }
}

struct Declined: Error, Codable, Equatable {
  let card: String
}

/// An error that cannot be stored as it is.
struct Opaque: Error {
  let text = "opaque"
}

struct Parcel: Codable, Equatable {
  let id: Int
}

struct Goods: Codable, Equatable {
  let parcels: [Parcel]
}

/// The order of the documentation, with what happens to it.
struct Orders: Sendable {
  let ledger = Ledger()
  /// Throws where a step is to fail.
  var check: @Sendable (_ step: String) async throws -> Void = { _ in }
  var checkUndo: @Sendable (_ step: String) async throws -> Void = { _ in }

  var chain: Chain<Int, String> {
    let (ledger, check, checkUndo) = (ledger, check, checkUndo)
    return Chain("order") { (count: Int) in
      let goods = try await step("reserve") {
        ledger.add("reserve")
        try await check("reserve")
        return Goods(parcels: (0..<count).map { Parcel(id: $0) })
      } undo: { _ in
        try await checkUndo("reserve")
        ledger.add("release")
      }
      let receipt = try await step("charge") {
        ledger.add("charge")
        try await check("charge")
        return "receipt"
      } undo: { receipt in
        try await checkUndo("charge")
        ledger.add("refund \(receipt)")
      }
      for parcel in goods.parcels {
        try await step("ship \(parcel.id)") {
          ledger.add("ship \(parcel.id)")
          try await check("ship \(parcel.id)")
        }
      }
      return receipt
    }
    .onError { error in ledger.add("onError \(error)") }
    .finally { _ in ledger.add("finally") }
  }
}

/// A store of a process that dies at a write: from then on nothing is stored.
final class DyingStore: CheckpointStore {
  struct Death: Error {}

  let base: any CheckpointStore
  private let last: Int
  /// Whether the last write is performed.
  private let isLate: Bool
  private let count = Lock(0)

  init(_ base: any CheckpointStore, at last: Int = .max, isLate: Bool = false) {
    self.base = base
    self.last = last
    self.isLate = isLate
  }

  var writes: Int { count.withLock { $0 } }

  private func write(_ body: () async throws -> Void) async throws {
    let number = count.withLock { count in
      count += 1
      return count
    }
    if number < last || number == last && isLate { try await body() }
    if number >= last { throw Death() }
  }

  @concurrent func acquire(_ id: String) async throws -> CheckpointLease { try await base.acquire(id) }
  @concurrent func renew(_ lease: CheckpointLease) async throws -> CheckpointLease { try await base.renew(lease) }
  @concurrent func release(_ lease: CheckpointLease) async throws { try await base.release(lease) }
  func releaseWithoutWaiting(_ lease: CheckpointLease) { base.releaseWithoutWaiting(lease) }
  @concurrent func load(_ id: String) async throws -> CheckpointRecord? { try await base.load(id) }
  @concurrent func remove(_ id: String) async throws { try await base.remove(id) }
  @concurrent func list(after last: String?, limit: Int) async throws -> CheckpointPage {
    try await base.list(after: last, limit: limit)
  }
  @concurrent func save(_ record: CheckpointRecord, ifVersionIs version: UInt64?, under lease: CheckpointLease)
    async throws
  {
    try await write { try await base.save(record, ifVersionIs: version, under: lease) }
  }
  @concurrent func append(_ entry: [UInt8], ifVersionIs version: UInt64, under lease: CheckpointLease) async throws {
    try await write { try await base.append(entry, ifVersionIs: version, under: lease) }
  }
}
