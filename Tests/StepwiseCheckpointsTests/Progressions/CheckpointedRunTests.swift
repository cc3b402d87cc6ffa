// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// The guarantees of a run under an id, with every store.
@Suite(.timeLimit(.minutes(10))) struct CheckpointedRunTests {
  enum Kind: CaseIterable, Sendable {
    case memory, files, endingLeases
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private func store(_ kind: Kind) throws -> any CheckpointStore {
    switch kind {
    case .memory: MemoryCheckpointStore()
    case .files: try FileCheckpointStore(directory: directory.url)
    case .endingLeases: MemoryCheckpointStore(leaseDuration: .seconds(600))
    }
  }

  @Test(arguments: Kind.allCases) func `A checkpointed run runs to its result`(kind: Kind) async throws {
    let store = try store(kind)
    let work = try await logged {
      let result = try await Count.at(0).run(id: "a", in: store)
      #expect(result == "three")
    }
    #expect(work == [0, 1, 2, 3])
    #expect(try await store.load("a")?.version == 5)
  }

  // G104
  @Test(arguments: Kind.allCases) func `A finished id returns its result and runs nothing`(kind: Kind) async throws {
    let store = try store(kind)
    _ = try await Count.at(0).run(id: "a", in: store)
    let work = try await logged {
      #expect(try await Count.at(0).run(id: "a", in: store) == "three")
      var stages: [Count] = []
      for try await stage in Count.at(0).stages(id: "a", in: store) { stages.append(stage) }
      #expect(stages == [.done("three")])
    }
    #expect(work == [])
    try await store.remove("a")
    #expect(try await logged { _ = try await Count.at(0).run(id: "a", in: store) } == [0, 1, 2, 3])
  }

  // G101
  @Test(arguments: Kind.allCases) func `A stage is saved before it is seen and before the next runs`(kind: Kind)
    async throws
  {
    let store = try store(kind)
    var seen = 0
    let work = try await logged {
      for try await stage in Count.at(0).stages(id: "a", in: store) {
        seen += 1
        let record = try #require(try await store.load("a"))
        #expect(record.version == UInt64(seen))
        #expect(try JSONDecoder().decode(Count.self, from: Data(record.stage)) == stage)
        // Nothing runs ahead of the consumer.
        #expect(Count.log.all.count == seen - 1)
      }
    }
    #expect(seen == 5)
    #expect(work == [0, 1, 2, 3])
  }

  // G111
  @Test(arguments: Kind.allCases) func `A run resumes where a loop ended`(kind: Kind) async throws {
    let store = try store(kind)
    for round in 0..<20 {
      let id = "round \(round)"
      let before = try await logged {
        for try await stage in Count.at(0).stages(id: id, in: store) where stage == .at(2) { break }
      }
      #expect(before == [0, 1])
      // The id is free at once.
      #expect(try await logged { _ = try await Count.at(0).run(id: id, in: store) } == [2, 3])
    }
  }

  // G111
  @Test(arguments: Kind.allCases) func `An error of a stage ends the run and releases the id`(kind: Kind) async throws {
    let store = try store(kind)
    await #expect(throws: Count.Broken.self) { try await Count.at(100).run(id: "a", in: store) }
    #expect(try await store.load("a")?.version == 1)
    // What was in progress is repeated.
    let work = try await logged {
      await #expect(throws: Count.Broken.self) { try await Count.at(100).run(id: "a", in: store) }
    }
    #expect(work == [100])
  }

  // G109
  @Test(arguments: Kind.allCases) func `A second run of an id gets an error immediately`(kind: Kind) async throws {
    let store = try store(kind)
    for try await stage in Count.at(0).stages(id: "a", in: store) where stage.result == nil {
      let work = try await logged {
        let error = await #expect(throws: CheckpointError.self) { try await Count.at(0).run(id: "a", in: store) }
        guard case .held("a", let location, getpid()) = error else {
          Issue.record("it is \(String(describing: error))")
          return
        }
        #expect(location == store.location(of: "a"))
      }
      #expect(work == [])
    }
    #expect(try await Count.at(0).run(id: "a", in: store) == "three")
  }

  // G105
  @Test(arguments: Kind.allCases) func `Another first stage is a different start`(kind: Kind) async throws {
    let store = try store(kind)
    _ = try await Count.at(1).run(id: "a", in: store)
    let before = try await store.load("a")
    for start in [Count.at(0), .done("three")] {
      let error = await #expect(throws: CheckpointError.self) { try await start.run(id: "a", in: store) }
      guard case .differentStart("a", _) = error else {
        Issue.record("it is \(String(describing: error))")
        continue
      }
    }
    #expect(try await store.load("a") == before)
    #expect(try await Count.at(1).run(id: "a", in: store) == "three")
  }

  @Test(arguments: Kind.allCases) func `Cancellation before a stage keeps what is saved`(kind: Kind) async throws {
    let store = try store(kind)
    let log = Count.Log()
    let task = Task {
      try await Count.$log.withValue(log) {
        for try await stage in Count.at(0).stages(id: "a", in: store) where stage == .at(2) {
          withUnsafeCurrentTask { $0?.cancel() }
        }
      }
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(log.all == [0, 1])
    #expect(try await logged { _ = try await Count.at(0).run(id: "a", in: store) } == [2, 3])
  }

  @Test func `A cancelled task acquires no id`() async throws {
    let store = MemoryCheckpointStore()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await Count.at(0).run(id: "a", in: store)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(try await store.load("a") == nil)
  }

  @Test func `An iterator that is no longer used retains nothing`() async throws {
    let store = try store(.files)
    var iterator = Optional(Count.at(0).stages(id: "a", in: store).makeAsyncIterator())
    _ = try await iterator?.next()
    await #expect(throws: CheckpointError.self) { try await store.remove("a") }
    iterator = nil
    try await store.remove("a")
  }

  @Test func `Stages run and are saved off the caller's actor`() async throws {
    let store = try store(.files)
    try await Task { @MainActor in
      for try await stage in OffMain.start.stages(id: "a", in: store) {
        MainActor.assertIsolated()
        if let result = stage.result { #expect(result) }
      }
    }.value
  }

  /// Finds out whether it runs on the main thread.
  enum OffMain: Progression, Codable {
    case start, end(Bool)
    var result: Bool? { if case .end(let isOff) = self { isOff } else { nil } }
    @concurrent func next() async throws -> OffMain { .end(pthread_main()) }
    private func pthread_main() -> Bool { !Thread.isMainThread }
  }
}
