// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting

/// A store in memory whose leases end on a manual clock, and whose renewals do what a test wants before they are done.
final class RenewalStore: ForwardingStore {
  let clock: ManualClock
  let base: any CheckpointStore
  private let beforeRenewal: @Sendable (Int) async throws -> Void
  private let count = Lock(0)
  /// When renewals that succeeded were requested.
  let renewed = Recorder<Duration>()

  init(_ clock: ManualClock, lease: Duration, beforeRenewal: @escaping @Sendable (Int) async throws -> Void) {
    self.clock = clock
    base = MemoryCheckpointStore(leaseDuration: lease, clock: clock)
    self.beforeRenewal = beforeRenewal
  }

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
