// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseCheckpoints
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(10))) struct StoreConformanceTests {
  // G116
  @Test func `The memory store keeps its promises`() async throws {
    try await checkCheckpointStore(MemoryCheckpointStore())
  }

  @Test func `The memory store keeps its promises when leases end`() async throws {
    let clock = ManualClock()
    let store = MemoryCheckpointStore(leaseDuration: .seconds(60), clock: clock)
    try await checkCheckpointStore(store, passTime: { clock.advance(by: $0) })
    #expect(clock.now.offset == .seconds(108))
  }

  // G116
  @Test func `The file store keeps its promises`() async throws {
    let directory = try TemporaryDirectory()
    try await checkCheckpointStore(try FileCheckpointStore(directory: directory.url)) {
      try FileCheckpointStore(directory: directory.url)
    }
    #expect(try directory.names == [])
  }

  @Test func `A fault-injecting store without faults keeps the promises`() async throws {
    try await checkCheckpointStore(FaultInjectingStore(MemoryCheckpointStore()))
    let directory = try TemporaryDirectory()
    try await checkCheckpointStore(FaultInjectingStore(try FileCheckpointStore(directory: directory.url)))
  }

  @Test func `The suite finds a lost save`() async {
    struct Lost: Error {}
    let store = FaultInjectingStore(MemoryCheckpointStore(), faults: [1: .tear, 4: .fail(Lost())])
    await #expect(throws: (any Error).self) { try await checkCheckpointStore(store) }
  }
}
