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
      try await expectError(rule, { if case .held = $0 { true } else { false } }) { _ = try await store.acquire(id) }
      let renewed = try await store.renew(lease)
      try expect(renewed.fence == lease.fence, "A renewed lease keeps its fencing number", "it became \(renewed.fence)")
    }
    for round in 0..<100 {
      let lease: CheckpointLease
      do {
        lease = try await store.acquire(id)
      } catch {
        throw CheckpointStoreViolation(rule: "An id is free at once when its lease was let go of", detail: "\(error)")
      }
      if round.isMultiple(of: 2) { store.letGo(of: lease) } else { try await store.release(lease) }
    }
    let winners = await withTaskGroup(of: CheckpointLease?.self) { group in
      for _ in 0..<8 { group.addTask { try? await store.acquire(id) } }
      return await group.reduce(into: []) { winners, lease in winners += lease.map { [$0] } ?? [] }
    }
    try expect(winners.count == 1, rule, "\(winners.count) of 8 that came at once were given one")
    for lease in winners { try await store.release(lease) }
  }

  /// A second is long for an answer, and one of three comes sooner on a machine that is busy.
  func refusesAtOnce() async throws {
    let (id, rule) = ("conformance-at-once", "An id that is held is refused at once")
    try await withLease(id) { _ in
      let clock = ContinuousClock()
      for _ in 0..<3 {
        let answer = Once<Duration?>()
        let start = clock.now
        let asking = spawn {
          if let lease = try? await store.acquire(id) { store.letGo(of: lease) }
          answer.settle(start.duration(to: clock.now))
        }
        let waiting = spawn { if (try? await Task.sleep(for: .seconds(10))) != nil { answer.settle(nil) } }
        let time = await answer.valueWhateverHappens()
        waiting.cancel()
        asking.cancel()
        if let time, time < .seconds(1) { return }
      }
      throw CheckpointStoreViolation(rule: rule, detail: "three attempts took longer than a second")
    }
  }

  func fencesStaleLeases() async throws {
    let (id, rule) = ("conformance-stale", "A lease that is over saves nothing")
    let isLost = { (error: CheckpointError) in if case .lostLease = error { true } else { false } }
    let stale = try await store.acquire(id)
    try await store.save(record(id), ifVersionIs: nil, under: stale)
    try await store.release(stale)
    try await expectError(rule, isLost) { try await store.save(record(id, 2), ifVersionIs: 1, under: stale) }
    try await withLease(id) { _ in
      try await expectError(rule, isLost) { try await store.save(record(id, 2), ifVersionIs: 1, under: stale) }
      try await expectError("A lease that is over is not renewed", isLost) { _ = try await store.renew(stale) }
      // Whoever lost a lease gives it back all the same, which is nothing to the one who has it now.
      try await store.release(stale)
      store.letGo(of: stale)
      try await expectError(
        "A lease that is over frees nothing",
        { if case .held = $0 { true } else { false } }
      ) { _ = try await store.acquire(id) }
    }
    try await withLease("conformance-stranger") { stranger in
      try await expectError("A lease is good for its own id", isLost) {
        try await store.save(record(id, 2), ifVersionIs: 1, under: stranger)
      }
    }
    try expect(try await store.load(id) == record(id), rule, "a refused save was kept")
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
