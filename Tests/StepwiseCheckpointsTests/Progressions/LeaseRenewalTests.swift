// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// A lease that ends by itself lasts as long as the iterator, and no longer.
@Suite(.timeLimit(.minutes(10))) struct LeaseRenewalTests {
  /// Lets others run until something is so; given up when the time of the suite is over.
  private func isSoSoon(_ condition: () -> Bool) async -> Bool {
    while !condition() {
      guard !Task.isCancelled else { return false }
      await Task.yield()
    }
    return true
  }

  @Test func aSlowConsumerKeepsItsLease() async throws {
    let clock = ManualClock()
    let store = FaultInjectingStore(MemoryCheckpointStore(leaseDuration: .milliseconds(300), clock: clock))
    var stages = 0
    for try await _ in Count.at(0).stages(id: "a", in: store) {
      stages += 1
      guard stages == 2 else { continue }
      // Far beyond the lease, with a renewal in each part of it.
      for _ in 0..<4 {
        clock.advance(by: .milliseconds(200))
        let count = store.renewals
        try #require(await isSoSoon { store.renewals > count + 1 })
      }
    }
    #expect(stages == 5)
  }

  @Test func aLeaseThatIsLostBetweenStagesEndsTheRunBeforeTheNextStage() async throws {
    let clock = ManualClock()
    let store = FaultInjectingStore(MemoryCheckpointStore(leaseDuration: .milliseconds(300), clock: clock))
    let work = try await logged {
      var iterator = Count.at(0).stages(id: "a", in: store).makeAsyncIterator()
      _ = try await iterator.next()
      clock.advance(by: .seconds(1))
      let count = store.renewals
      try #require(await isSoSoon { store.renewals > count })
      let error = await #expect(throws: CheckpointError.self) { _ = try await iterator.next() }
      if case .lostLease("a", _) = error {} else { Issue.record("it is \(String(describing: error))") }
    }
    #expect(work == [])
  }

  @Test func lettingGoOfTheIteratorEndsTheRenewalAtOnce() async throws {
    weak var isThere: MemoryCheckpointStore?
    do {
      let store = MemoryCheckpointStore(leaseDuration: .seconds(36_000))
      isThere = store
      for try await _ in Count.at(0).stages(id: "left", in: store) { break }
      _ = try await Count.at(0).run(id: "ended", in: store)
    }
    // A renewal that waits for its time would hold the store.
    #expect(await isSoSoon { isThere == nil })
  }
}
