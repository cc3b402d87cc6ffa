// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// What happens to a run whose store fails.
@Suite(.timeLimit(.minutes(10))) struct FaultyStoreTests {
  struct Fault: Error {}

  @Test(arguments: 1...5) func `A failed save ends the run and loses nothing`(save: Int) async throws {
    let store = FaultInjectingStore(MemoryCheckpointStore(), faults: [save: .fail(Fault())])
    let before = try await logged {
      await #expect(throws: Fault.self) { try await Count.at(0).run(id: "a", in: store) }
    }
    #expect(before == Array(0..<save).dropLast())
    #expect(try await store.load("a")?.version == (save == 1 ? nil : UInt64(save - 1)))
    // The id is free, and the stage that could not be saved is repeated.
    let after = try await logged {
      let result = try await Count.at(0).run(id: "a", in: store)
      #expect(result == "three")
    }
    #expect(after == Array(max(0, save - 2)...3))
  }

  @Test(arguments: 1...5) func `A save whose response is lost is not repeated`(save: Int) async throws {
    let store = FaultInjectingStore(MemoryCheckpointStore(), faults: [save: .failAfterwards(Fault())])
    await #expect(throws: Fault.self) { try await Count.at(0).run(id: "a", in: store) }
    let after = try await logged {
      let result = try await Count.at(0).run(id: "a", in: store)
      #expect(result == "three")
    }
    #expect(after == (save == 5 ? [] : Array(save - 1...3)))
  }

  @Test(arguments: 1...5, [true, false]) func `A torn save is damage and is kept`(save: Int, inFiles: Bool) async throws
  {
    let directory = try TemporaryDirectory()
    let base: any CheckpointStore =
      inFiles ? try FileCheckpointStore(directory: directory.url) : MemoryCheckpointStore()
    try await checkTorn(base, save: save)
  }

  private func checkTorn(_ base: some CheckpointStore, save: Int) async throws {
    let store = FaultInjectingStore(base, faults: [save: .tear])
    await #expect(throws: InjectedFault(save: save)) { try await Count.at(0).run(id: "a", in: store) }
    let torn = try await base.load("a")
    #expect(torn?.isIntact == false)
    let work = try await logged {
      let error = await #expect(throws: CheckpointError.self) { try await Count.at(0).run(id: "a", in: base) }
      if case .damaged("a", _, _) = error {} else { Issue.record("it is \(String(describing: error))") }
    }
    #expect(work == [])
    #expect(try await base.load("a") == torn)
  }

  // G101
  @Test func `The next stage waits for a slow save`() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let (reached, reach) = AsyncStream.makeStream(of: Void.self)
    let store = FaultInjectingStore(
      MemoryCheckpointStore(),
      faults: [
        2: .delay {
          reach.finish()
          for await _ in gate {}
        }
      ]
    )
    let log = Count.Log()
    let task = Task { try await Count.$log.withValue(log) { try await Count.at(0).run(id: "a", in: store) } }
    for await _ in reached {}
    #expect(log.all == [0])
    open.finish()
    #expect(try await task.value == "three")
  }

  @Test func `A run whose lease has ended saves nothing`() async throws {
    // The clocks differ, as the first run could renew its lease before the other one acquires the id.
    let (clock, late) = (ManualClock(), ManualClock())
    let store = MemoryCheckpointStore(leaseDuration: .seconds(30), clock: clock)
    var iterator = Count.at(0).stages(id: "a", in: store, leaseClock: late).makeAsyncIterator()
    _ = try await iterator.next()
    clock.advance(by: .seconds(31))
    // Another run acquires the id, and completes.
    var result: String?
    for try await stage in Count.at(0).stages(id: "a", in: store, leaseClock: clock) { result = stage.result }
    #expect(result == "three")
    late.advance(by: .seconds(31))
    let record = try await store.load("a")
    await #expect(throws: CheckpointError.self) { _ = try await iterator.next() }
    #expect(try await iterator.next() == nil)
    #expect(try await store.load("a") == record)
  }
}
