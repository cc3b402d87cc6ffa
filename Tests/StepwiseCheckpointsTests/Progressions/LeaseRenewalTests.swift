// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// A lease that ends after a duration lasts as long as its holder renews it, and no longer.
@Suite(.timeLimit(.minutes(10))) struct LeaseRenewalTests {
  private struct Unreachable: Error {}
  private let clock = ManualClock()

  private func store(_ beforeRenewal: @escaping @Sendable (Int) async throws -> Void = { _ in }) -> RenewalStore {
    RenewalStore(clock, lease: .seconds(30), beforeRenewal: beforeRenewal)
  }

  /// Waits until the holder has nothing to do before the time passes: it waits to renew, and for the end.
  private func pass(_ duration: Duration) async {
    await clock.sleepers(atLeast: 2)
    clock.advance(by: duration)
  }

  private func expectLost(_ work: () async throws -> Void) async {
    let error = await #expect(throws: CheckpointError.self) { try await work() }
    if case .lostLease("a", _) = error {} else { Issue.record("it is \(String(describing: error))") }
  }

  @Test
  func `A slow consumer keeps its lease`() async throws {
    let store = store()
    var stages = 0
    for try await _ in Count.at(0).stages(id: "a", in: store, leaseClock: clock) {
      stages += 1
      guard stages == 2 else { continue }
      // Far beyond the lease, with a renewal in each third of it.
      for _ in 0..<12 { await pass(.seconds(10)) }
      await store.renewed.elements(atLeast: 12)
    }
    #expect(stages == 5)
    #expect(store.renewed.elements == (1...12).map { .seconds($0 * 10) })
  }

  @Test
  func `The lease of a long stage is renewed again and again`() async throws {
    let store = store()
    let result = try await Waiting.run(in: store, leaseClock: clock) {
      for _ in 0..<12 { await pass(.seconds(10)) }
      await store.renewed.elements(atLeast: 12)
    }
    #expect(result == 1)
  }

  @Test
  func `One renewal that fails ends nothing: the next one comes soon`() async throws {
    let store = store { if $0 < 3 { throw Unreachable() } }
    let result = try await Waiting.run(in: store, leaseClock: clock) {
      for time: Duration in [.seconds(10), .seconds(2.5), .seconds(2.5)] { await pass(time) }
      await store.renewed.elements(atLeast: 1)
      #expect(!Task.isCancelled)
    }
    #expect(result == 1)
    #expect(store.renewed.elements == [.seconds(15)])
  }

  // G110
  @Test
  func `A lease whose renewals fail is lost after its duration, not before`() async throws {
    let store = store { _ in throw Unreachable() }
    let lost = Recorder<Duration>()
    await expectLost {
      _ = try await Waiting.run(in: store, leaseClock: clock) {
        await pass(.seconds(10))
        for _ in 0..<7 { await pass(.seconds(2.5)) }
        await clock.sleepers(atLeast: 2)
        #expect(!Task.isCancelled)
        clock.advance(by: .seconds(2.5))
        await untilCancelled()
        lost.record(clock.now.offset)
      }
    }
    #expect(lost.elements == [.seconds(30)])
    #expect(try await store.load("a")?.version == 1)
  }

  @Test
  func `A renewal that hangs does not let a stage work on past its lease`() async throws {
    let hanging = Recorder<Void>()
    let release = Latch()
    let store = store { _ in
      hanging.record(())
      await release.waitIgnoringCancellation()
    }
    await expectLost {
      _ = try await Waiting.run(in: store, leaseClock: clock) {
        await pass(.seconds(10))
        await hanging.elements(atLeast: 1)
        await clock.sleepers(atLeast: 1)
        #expect(!Task.isCancelled)
        clock.advance(by: .seconds(20))
        await untilCancelled()
        #expect((try? await store.acquire("a")) != nil)
      }
    }
    // What the store grants too late is not used.
    release.open()
    #expect(try await store.load("a")?.version == 1)
  }

  @Test
  func `A lease that the store refuses is lost at once`() async throws {
    let store = store { _ in throw CheckpointError.lostLease(id: "a", location: "elsewhere") }
    await expectLost {
      _ = try await Waiting.run(in: store, leaseClock: clock) {
        await pass(.seconds(10))
        await untilCancelled()
      }
    }
    #expect(clock.now.offset == .seconds(10))
  }

  @Test
  func `A lease lost between stages ends the run before the next stage`() async throws {
    let store = store { _ in throw Unreachable() }
    let work = try await logged {
      var iterator = Count.at(0).stages(id: "a", in: store, leaseClock: clock).makeAsyncIterator()
      _ = try await iterator.next()
      // As after a process was stopped: the stage may come before the renewal.
      clock.advance(by: .seconds(31))
      await expectLost { _ = try await iterator.next() }
    }
    #expect(work == [])
  }

  @Test
  func `Releasing the iterator ends the renewal at once`() async throws {
    weak var isPresent: RenewalStore?
    do {
      let store = store()
      isPresent = store
      for try await _ in Count.at(0).stages(id: "left", in: store, leaseClock: clock) { break }
      for try await _ in Count.at(0).stages(id: "ended", in: store, leaseClock: clock) {}
    }
    // A renewal that waits for its time would retain the store.
    while isPresent != nil, !Task.isCancelled { await Task.yield() }
    #expect(isPresent == nil)
  }

  // G110
  @Test
  func `No stage works past its lease, under 1,000 seeds`() throws {
    var losses = 0
    for seed: UInt64 in 0..<1_000 {
      let clock = ManualClock()
      let random = Lock(SeededGenerator(seed: seed))
      let store = RenewalStore(clock, lease: .seconds(30)) { _ in
        let (fate, delay) = random.withLock { random in
          (Int.random(in: 0..<6, using: &random), Int.random(in: 0...18, using: &random))
        }
        if fate > 0 { try? await clock.sleep(for: .seconds(delay)) }
        if fate > 3 { throw Unreachable() }
      }
      let lost = Recorder<Duration>()
      let isDone = try SeededExecutor(seed: seed, clock: clock).run {
        do {
          _ = try await Waiting.run(in: store, leaseClock: clock) {
            try? await clock.sleep(for: .milliseconds(300))
            for _ in 0..<25 where !Task.isCancelled { try? await clock.sleep(for: .seconds(4)) }
            if Task.isCancelled { lost.record(clock.now.offset) }
          }
          return true
        } catch CheckpointError.lostLease {
          return false
        }
      }
      let last = lost.elements.last ?? .zero
      let success = store.renewed.elements.last { $0 + .seconds(30) <= last } ?? .zero
      #expect(lost.elements == (isDone ? [] : [success + .seconds(30)]), "seed \(seed)")
      if !isDone { losses += 1 }
    }
    #expect((100..<900).contains(losses), "\(losses) of 1,000 runs lost their lease")
  }
}

/// Suspends until the Task is cancelled.
private func untilCancelled() async {
  await Recorder<Void>().elements(atLeast: 1)
}

/// Suspends until it is opened, also in a cancelled Task.
private final class Latch: Sendable {
  private let once = Once<Void>()
  func open() { once.settle(()) }
  func waitIgnoringCancellation() async { _ = await Task { [once] in await once.value() }.value }
}
