// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// The conformance suite detects a store that violates one guarantee, and names it.
@Suite(.timeLimit(.minutes(10))) struct SpoiltStoreTests {
  @Test(arguments: SpoiltStore.Fault.allCases) func `A broken promise is named`(fault: SpoiltStore.Fault) async throws {
    let store = SpoiltStore(fault)
    let error = await #expect(throws: CheckpointStoreViolation.self) {
      try await checkCheckpointStore(store, timeLimit: .seconds(4), passTime: { store.clock.advance(by: $0) })
    }
    #expect(error.map(\.rule) == fault.rule)
  }
}

/// A store in memory that violates one guarantee.
final class SpoiltStore: CheckpointStore {
  enum Fault: CaseIterable {
    case rebuildsChecksums, savesInTwoSteps, waitsBeforeItRefuses, alwaysSaysMore, listsAfterKnownIDsOnly
    case foldsUnicode, foldsCase, cutsIDs, leasesOverAtOnce, waitsUntilFree, renewsNothing, neverEnds, hangs
    case forgetsWhenCancelled, keepsLeasesOfCancelledTasks

    var rule: String {
      switch self {
      case .rebuildsChecksums: "A record keeps its checksum unchanged"
      case .savesInTwoSteps: "A save replaces the whole record atomically"
      case .waitsBeforeItRefuses, .waitsUntilFree: "An id that is held is refused at once"
      case .alwaysSaysMore: "A page says that there is more only when there is"
      case .listsAfterKnownIDsOnly: "A page may start after an id that has no record"
      case .foldsUnicode, .foldsCase, .cutsIDs: "Ids that differ in a byte are different ids"
      case .renewsNothing: "A renewed lease lasts for its duration from then"
      case .neverEnds: "A lease is over when its duration has passed"
      case .hangs: "Every call returns in time"
      case .forgetsWhenCancelled, .keepsLeasesOfCancelledTasks:
        "A call in a cancelled task is performed, or throws and changes nothing"
      case .leasesOverAtOnce: "A lease lasts for some time"
      }
    }
  }

  let clock = ManualClock()
  private let base: MemoryCheckpointStore
  private let fault: Fault

  init(_ fault: Fault) {
    self.fault = fault
    let ends = [.renewsNothing, .leasesOverAtOnce].contains(fault)
    base = ends ? MemoryCheckpointStore(leaseDuration: .seconds(60), clock: clock) : MemoryCheckpointStore()
  }

  /// Never returns, also when it is cancelled.
  private func hang() async { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }

  private func key(_ id: String) -> String {
    switch fault {
    case .foldsUnicode: id.precomposedStringWithCanonicalMapping
    case .foldsCase: id.lowercased()
    case .cutsIDs where id.utf8.count == 200: String(decoding: id.utf8.dropLast(), as: UTF8.self)
    default: id
    }
  }

  private func key(_ lease: CheckpointLease) -> CheckpointLease {
    CheckpointLease(id: key(lease.id), fence: lease.fence)
  }

  @concurrent func acquire(_ id: String) async throws -> CheckpointLease {
    do {
      let fence = try await base.acquire(key(id)).fence
      let duration: Duration? =
        switch fault {
        case .leasesOverAtOnce: .zero
        case .renewsNothing, .neverEnds: .seconds(60)
        default: nil
        }
      return CheckpointLease(id: id, fence: fence, duration: duration)
    } catch {
      if fault == .waitsUntilFree { await hang() }
      let clock = ContinuousClock()
      let end = clock.now.advanced(by: .seconds(1.2))
      while fault == .waitsBeforeItRefuses, clock.now < end { await Task.yield() }
      throw error
    }
  }

  @concurrent func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
    if fault != .renewsNothing { _ = try await base.renew(key(lease)) }
    return lease
  }

  @concurrent func release(_ lease: CheckpointLease) async throws {
    if fault == .keepsLeasesOfCancelledTasks, Task.isCancelled { return }
    releaseWithoutWaiting(lease)
  }

  func releaseWithoutWaiting(_ lease: CheckpointLease) { base.releaseWithoutWaiting(key(lease)) }

  @concurrent func load(_ id: String) async throws -> CheckpointRecord? {
    guard let record = try await base.load(key(id)), fault == .rebuildsChecksums else {
      return try await base.load(key(id))
    }
    return CheckpointRecord(
      id: record.id,
      progression: record.progression,
      schemaVersion: record.schemaVersion,
      version: record.version,
      first: record.first,
      stage: record.stage
    )
  }

  @concurrent func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws {
    var (record, version) = (record, version)
    record.id = key(record.id)
    if fault == .forgetsWhenCancelled, Task.isCancelled { return }
    if fault == .savesInTwoSteps {
      var half = record
      half.version = 1 << 40
      try await base.save(half, ifVersionIs: version, under: key(lease))
      for _ in 0..<100 { await Task.yield() }
      version = half.version
    }
    try await base.save(record, ifVersionIs: version, under: key(lease))
  }

  @concurrent func remove(_ id: String) async throws { try await base.remove(key(id)) }

  @concurrent func list(after last: String?, limit: Int) async throws -> CheckpointPage {
    if fault == .hangs { await hang() }
    let page = try await base.list(after: last, limit: limit)
    switch fault {
    case .alwaysSaysMore:
      return CheckpointPage(ids: page.ids, hasMore: page.ids.count == limit)
    case .listsAfterKnownIDsOnly:
      let all = try await base.list(after: nil, limit: .max).ids
      return last.map(all.contains) == false ? CheckpointPage(ids: [], hasMore: false) : page
    default:
      return page
    }
  }
}
