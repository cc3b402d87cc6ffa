// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints

extension StoreConformance {
  func givesOneLease() async throws {
    let (id, rule) = ("conformance-lease", "An id has one lease at a time")
    try await withLease(id) { lease in
      try expect(lease.id == id, "A lease names its id", "it names \(lease.id)")
      try expect(lease.duration.map { $0 > .zero } ?? true, "A lease lasts for some time", "it is over at once")
      try await expectError(rule, Self.isHeld) { _ = try await store.acquire(id) }
      let renewed = try await store.renew(lease)
      try expect(renewed.fence == lease.fence, "A renewed lease keeps its fencing number", "it became \(renewed.fence)")
    }
    for round in 0..<100 {
      let rule = "An id is free at once when its lease was released"
      let lease = try await expectNoError(rule, "the next holder") { try await store.acquire(id) }
      if round.isMultiple(of: 2) { store.releaseWithoutWaiting(lease) } else { try await store.release(lease) }
    }
    let winners = await withTaskGroup(of: CheckpointLease?.self) { group in
      for _ in 0..<8 { group.addTask { try? await store.acquire(id) } }
      return await group.reduce(into: []) { winners, lease in winners += lease.map { [$0] } ?? [] }
    }
    try expect(winners.count == 1, rule, "\(winners.count) of 8 concurrent attempts succeeded")
    for lease in winners { try await store.release(lease) }
  }

  /// A second is generous for an answer, and at least one of three attempts is faster on a busy machine.
  func refusesAtOnce() async throws {
    let (id, rule) = ("conformance-at-once", "An id that is held is refused at once")
    try await withLease(id) { _ in
      let clock = ContinuousClock()
      for _ in 0..<3 {
        let start = clock.now
        do {
          store.releaseWithoutWaiting(try await store.acquire(id))
        } catch let violation as CheckpointStoreViolation {
          // No further attempt, because each may block a thread for ever.
          throw CheckpointStoreViolation(rule: rule, detail: violation.detail)
        } catch {}
        if start.duration(to: clock.now) < .seconds(1) { return }
      }
      throw CheckpointStoreViolation(rule: rule, detail: "three attempts took longer than a second")
    }
  }

  /// Checks leases with a duration: a lease is renewed before its end, lasts equally long after that, and no longer.
  func renewsLeases(_ passTime: (@Sendable (Duration) async throws -> Void)?) async throws {
    let id = "conformance-renewal"
    let lease = try await store.acquire(id)
    guard let duration = lease.duration, passTime != nil || duration <= .seconds(10) else {
      return try await store.release(lease)
    }
    let pass = passTime ?? { duration in try await Task.sleep(for: duration) }
    try await pass(duration * 0.6)
    let renewed = try await store.renew(lease)
    try await pass(duration * 0.6)
    let rule = "A renewed lease lasts for its duration from then"
    try await expectError(rule, Self.isHeld) { _ = try await store.acquire(id) }
    try await expectNoError(rule, "a save") { try await store.save(record(id), ifVersionIs: nil, under: renewed) }
    try await pass(duration * 0.6)
    let end = "A lease is over when its duration has passed"
    let next = try await expectNoError(end, "the next holder") { try await store.acquire(id) }
    try await expectError(end, Self.isLost) { try await store.save(record(id, 2), ifVersionIs: 1, under: renewed) }
    try await expectError(end, Self.isLost) { _ = try await store.renew(renewed) }
    try await store.release(next)
  }

  static let isHeld: @Sendable (CheckpointError) -> Bool = { if case .held = $0 { true } else { false } }
  static let isLost: @Sendable (CheckpointError) -> Bool = { if case .lostLease = $0 { true } else { false } }
  static let isConflict: @Sendable (CheckpointError) -> Bool = { if case .conflict = $0 { true } else { false } }

  func fencesStaleLeases() async throws {
    let (id, rule) = ("conformance-stale", "A lease that is over saves nothing")
    let stale = try await store.acquire(id)
    try await store.save(record(id), ifVersionIs: nil, under: stale)
    try await store.release(stale)
    try await expectError(rule, Self.isLost) { try await store.save(record(id, 2), ifVersionIs: 1, under: stale) }
    try await withLease(id) { _ in
      try await expectError(rule, Self.isLost) { try await store.save(record(id, 2), ifVersionIs: 1, under: stale) }
      try await expectError("A lease that is over is not renewed", Self.isLost) { _ = try await store.renew(stale) }
      // A holder that has lost its lease still releases it, which must not affect the current holder.
      try await store.release(stale)
      store.releaseWithoutWaiting(stale)
      try await expectError("A lease that is over frees nothing", Self.isHeld) { _ = try await store.acquire(id) }
    }
    try await withLease("conformance-stranger") { stranger in
      try await expectError("A lease is valid only for its own id", Self.isLost) {
        try await store.save(record(id, 2), ifVersionIs: 1, under: stranger)
      }
    }
    try expect(try await store.load(id) == record(id), rule, "a refused save was kept")
  }

  /// A run stores its last steps in a task that was cancelled, for example by a server that stops.
  func worksInCancelledTasks() async throws {
    let (id, rule) = ("conformance-cancelled", "A call in a cancelled task is performed, or throws and changes nothing")
    func isPerformed(_ body: @escaping @Sendable () async throws -> Void) async -> Bool {
      await Task {
        withUnsafeCurrentTask { $0?.cancel() }
        do { try await body() } catch { return false }
        return true
      }.value
    }
    // Without the time limit, which ends the wait of a cancelled task.
    let base = store.base
    let lease = try await store.acquire(id)
    let saved = record(id, stage: [])
    let isSaved = await isPerformed { try await base.save(saved, ifVersionIs: nil, under: lease) }
    let loaded = try await store.load(id)
    try expect(loaded == (isSaved ? saved : nil), rule, "a save \(isSaved ? "was not" : "was") kept")
    if !isSaved { try await store.save(saved, ifVersionIs: nil, under: lease) }
    let isAppended = await isPerformed { try await base.append([7], ifVersionIs: 1, under: lease) }
    let entries = try await store.entries(of: id)
    try expect(entries == (isAppended ? [[7]] : []), rule, "an entry \(isAppended ? "was not" : "was") kept")
    if !(await isPerformed { try await base.release(lease) }) { store.releaseWithoutWaiting(lease) }
    try await expectNoError(rule, "the next holder") { try await store.release(try await store.acquire(id)) }
  }

  func countsFencesUp() async throws {
    let (id, rule) = ("conformance-fence", "Each lease of an id has a higher fencing number")
    var last: UInt64 = 0
    for round in 0..<6 {
      let fence = try await withLease(id) { lease in
        if round == 3 { try await store.save(record(id), ifVersionIs: nil, under: lease) }
        return lease.fence
      }
      try expect(fence > last, rule, "\(fence) comes after \(last)\(round == 4 ? ", when the id was removed" : "")")
      last = fence
      if round == 3 { try await store.remove(id) }
    }
  }
}

/// Wraps a store under test; a call that exceeds the time limit is a violation.
struct LimitedStore: ForwardingStore {
  let base: any CheckpointStore
  /// The time limit for a call.
  let limit: Duration

  /// Does not await a call that exceeds the time limit, because it may never return.
  func call<Value: Sendable>(
    _ name: String,
    _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let outcome = Once<Result<Value, any Error>>()
    let work = spawn {
      do { outcome.settle(.success(try await body())) } catch { outcome.settle(.failure(error)) }
    }
    let timer = spawn {
      // In ten parts, so that on a busy machine the call gets its share of time before the limit is reached.
      for _ in 0..<10 where (try? await Task.sleep(for: limit.clamped / 10)) == nil { return }
      let detail = "\(name) did not return within \(limit)"
      outcome.settle(.failure(CheckpointStoreViolation(rule: "Every call returns in time", detail: detail)))
    }
    defer { timer.cancel() }
    guard let result = await outcome.value() else {
      work.cancel()
      throw CancellationError()
    }
    return try result.get()
  }
}
