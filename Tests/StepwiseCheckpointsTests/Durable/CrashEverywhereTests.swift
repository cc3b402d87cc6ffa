// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

@Suite(.timeLimit(.minutes(2)))
struct CrashEverywhereTests {
  // G149
  @Test func `A correct chain passes`() async throws {
    let crashes = try await crashEverywhere { store in try await Orders().chain.run(2, id: "o", in: store) }
    #expect(crashes > 10)
  }

  // G149
  @Test func `An id between steps is found`() async throws {
    let chain = Chain("ids") { (_: Int) in
      let id = UUID()
      let text = try await step("a") { "\(id)" }
      try await step("b") {}
      return text == "\(id)"
    }
    await #expect(throws: CrashDifference.self) {
      try await crashEverywhere { store in try await chain.run(1, id: "x", in: store) }
    }
  }

  // G149
  @Test func `A variable that a step set is found`() async throws {
    let chain = Chain("variables") { (_: Int) in
      var count = 0
      try await step("a") { count += 1 }
      try await step("b") {}
      return count
    }
    await #expect(throws: CrashDifference.self) {
      try await crashEverywhere { store in try await chain.run(1, id: "x", in: store) }
    }
  }

  // G149
  @Test func `Replay finds runs that new code cannot resume`() async throws {
    let (store, ledger) = (MemoryCheckpointStore(), Ledger())
    func chain(_ names: [String]) -> Chain<Int, Int> {
      Chain("deployed") { (input: Int) in
        for name in names {
          if name == "STOP" {
            withUnsafeCurrentTask { $0?.cancel() }
          } else {
            try await step(name) { ledger.add(name) }
          }
        }
        return input
      }
    }
    _ = try? await chain(["a", "b", "STOP", "c"]).run(1, id: "x", in: store)
    let before = try await store.load("x")
    #expect(try await chain(["a", "b", "c", "d"]).checkReplay(in: store) == 1)
    await #expect(throws: CheckpointError.self) { try await chain(["a", "c"]).checkReplay(in: store) }
    await #expect(throws: CheckpointError.self) { try await chain(["a"]).checkReplay(in: store) }
    #expect(ledger.lines == ["a", "b"])
    #expect(try await store.load("x") == before)
  }
}
