// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting

/// A store in memory whose leases end on a manual clock, and whose renewals do what a test wants before they are done.
final class RenewalStore: CheckpointStore {
  let clock: ManualClock
  private let base: MemoryCheckpointStore
  private let beforeRenewal: @Sendable (Int) async throws -> Void
  private let count = Lock(0)
  /// When renewals that succeeded were requested.
  let renewed = Recorder<Duration>()

  init(_ clock: ManualClock, lease: Duration, beforeRenewal: @escaping @Sendable (Int) async throws -> Void) {
    self.clock = clock
    base = MemoryCheckpointStore(leaseDuration: lease, clock: clock)
    self.beforeRenewal = beforeRenewal
  }

  @concurrent func acquire(_ id: String) async throws -> CheckpointLease { try await base.acquire(id) }

  @concurrent func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
    let requested = clock.now.offset
    let number = count.withLock { count in
      count += 1
      return count
    }
    try await beforeRenewal(number)
    let lease = try await base.renew(lease)
    renewed.record(requested)
    return lease
  }

  @concurrent func release(_ lease: CheckpointLease) async throws { try await base.release(lease) }
  func releaseWithoutWaiting(_ lease: CheckpointLease) { base.releaseWithoutWaiting(lease) }
  @concurrent func load(_ id: String) async throws -> CheckpointRecord? { try await base.load(id) }

  @concurrent func save(
    _ record: CheckpointRecord,
    ifVersionIs version: UInt64?,
    under lease: CheckpointLease
  ) async throws {
    try await base.save(record, ifVersionIs: version, under: lease)
  }

  @concurrent func remove(_ id: String) async throws { try await base.remove(id) }

  @concurrent func list(after last: String?, limit: Int) async throws -> CheckpointPage {
    try await base.list(after: last, limit: limit)
  }
}

/// Does in its stage what a test wants.
enum Waiting: Progression, Codable {
  @TaskLocal static var body: @Sendable () async -> Void = {}
  case start, end
  var result: Int? { if case .end = self { 1 } else { nil } }
  @concurrent func next() async throws -> Waiting {
    await Self.body()
    return .end
  }

  /// Runs it with a stage that does this.
  @concurrent
  static func run(
    in store: some CheckpointStore,
    leaseClock: some Clock<Duration>,
    _ body: @escaping @Sendable () async -> Void
  ) async throws -> Int? {
    try await $body.withValue(body) {
      var result: Int?
      for try await stage in Waiting.start.stages(id: "a", in: store, leaseClock: leaseClock) { result = stage.result }
      return result
    }
  }
}
