// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// What happened outside of a run, in order.
final class Ledger: Sendable {
  private let state = Lock([String]())

  var lines: [String] { state.withLock { $0 } }

  func add(_ line: String) { state.withLock { $0.append(line) } }
  func count(_ line: String) -> Int { lines.count { $0 == line } }
}

/// Lets other tasks run, so that what does not wait for the caller is likely to be first.
func letOthersRun() async {
  for _ in 0..<100 { await Task.yield() }
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

/// Expects that a replay waits for no step that the code does not call, which takes two minutes here.
func expectNoDelay<Value>(
  _ replay: nonisolated(nonsending) () async throws -> Value,
  at location: SourceLocation = #_sourceLocation
) async throws -> Value {
  let start = ContinuousClock.now
  defer { #expect(ContinuousClock.now - start < .seconds(60), sourceLocation: location) }
  return try await DurableRun.Patience.$current.withValue(.init(duration: .seconds(120))) { try await replay() }
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
final class DyingStore: ForwardingStore {
  struct Death: Error {}

  let base: any CheckpointStore
  private let last: Int
  /// Whether the last write is performed.
  private let isLate: Bool
  private let count = Lock(0)
  private let isDead = Lock(false)

  init(_ base: any CheckpointStore, at last: Int = .max, isLate: Bool = false) {
    self.base = base
    self.last = last
    self.isLate = isLate
  }

  var writes: Int { count.withLock { $0 } }

  /// Whether a write was refused, or the last one performed.
  var hasDied: Bool { isDead.withLock { $0 } || count.withLock { $0 } >= last }

  /// The process dies now: nothing more is stored.
  func die() { isDead.withLock { $0 = true } }

  func write(_ entry: [UInt8]?, of id: String, _ write: () async throws -> Void) async throws {
    let number = count.withLock { count in
      count += 1
      return count
    }
    if isDead.withLock({ $0 }) { throw Death() }
    if number < last || number == last && isLate { try await write() }
    if number >= last { throw Death() }
  }
}

/// A store whose leases are over when a run receives them, which the store itself does not notice.
struct ExpiredStore: ForwardingStore {
  let base: any CheckpointStore = MemoryCheckpointStore()

  private func valid(_ lease: CheckpointLease) -> CheckpointLease { CheckpointLease(id: lease.id, fence: lease.fence) }

  @concurrent func acquire(_ id: String) async throws -> CheckpointLease {
    CheckpointLease(id: id, fence: try await base.acquire(id).fence, duration: .zero)
  }
  @concurrent func renew(_ lease: CheckpointLease) async throws -> CheckpointLease { lease }
  @concurrent func release(_ lease: CheckpointLease) async throws { try await base.release(valid(lease)) }
  func releaseWithoutWaiting(_ lease: CheckpointLease) { base.releaseWithoutWaiting(valid(lease)) }
  @concurrent func save(_ record: CheckpointRecord, ifVersionIs version: UInt64?, under lease: CheckpointLease)
    async throws
  {
    try await base.save(record, ifVersionIs: version, under: valid(lease))
  }
  @concurrent func append(_ entry: [UInt8], ifVersionIs version: UInt64, under lease: CheckpointLease) async throws {
    try await base.append(entry, ifVersionIs: version, under: valid(lease))
  }
}

/// A store that passes each write to a closure, which performs it.
struct TappedStore: ForwardingStore {
  let base: any CheckpointStore
  let onWrite: @Sendable (_ id: String, _ write: () async throws -> Void) async throws -> Void

  func write(_ entry: [UInt8]?, of id: String, _ write: () async throws -> Void) async throws {
    try await onWrite(id, write)
  }
}

struct Lossy: Codable, Equatable, Sendable {
  var value = 1
  var lost = 0
  enum CodingKeys: String, CodingKey { case value }
  init(lost: Int) { self.lost = lost }
  init(from decoder: any Decoder) throws {
    value = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .value)
  }
}

/// Runs a chain in a process that dies at each write in turn, and then to its end; returns the results of both.
func everywhere<Output: Codable & Equatable & Sendable>(
  _ make: (Ledger) -> Chain<Int, Output>,
  _ check: (_ last: Int, Ledger, Output?) -> Void
) async throws {
  for last in 1...60 {
    for isLate in [false, true] {
      let (ledger, base) = (Ledger(), MemoryCheckpointStore())
      let store = DyingStore(base, at: last, isLate: isLate)
      let chain = make(ledger)
      _ = try? await chain.run(1, id: "x", in: store)
      var output: Output?
      do { output = try await chain.run(1, id: "x", in: base) } catch { Issue.record("\(last): \(error)") }
      check(last, ledger, output)
      if store.writes < last { return }
    }
  }
  Issue.record("more writes than expected")
}
