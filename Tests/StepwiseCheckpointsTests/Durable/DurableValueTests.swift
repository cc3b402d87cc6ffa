// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// The values of steps, as a durable run stores them, and those that cannot be stored.
@Suite(.timeLimit(.minutes(2)))
struct DurableValueTests {
  @Test func `A value that encoding changes fails its step and is undone live`() async throws {
    let (store, ledger) = (MemoryCheckpointStore(), Ledger())
    let chain = Chain("lossy") { (input: Int) in
      try await step("a") {
        Lossy(lost: 3)
      } undo: {
        ledger.add("undo \($0.lost)")
      }
      return input
    }
    await #expect(throws: CheckpointError.self) { try await chain.run(1, id: "x", in: store) }
    #expect(ledger.lines == ["undo 3"])
    #expect(try await chain.unfinished(in: store).isEmpty)
  }

  /// What the step has done in a process that dies is done again by the next one, and undone.
  // G141
  @Test func `A step whose value cannot be stored is undone wherever the process dies`() async throws {
    try await everywhere { ledger in
      Chain("lossy") { (_: Int) in
        do {
          try await step("a") {
            ledger.add("a")
            return Lossy(lost: 3)
          } undo: { _ in
            ledger.add("undo a")
          }
        } catch is CheckpointError {
          return try await step("b") { "b" }
        }
        return "a"
      }
    } _: { last, ledger, output in
      #expect(output == "b", "\(last)")
      #expect(ledger.lines.last == "undo a", "\(last): \(ledger.lines)")
      #expect(ledger.count("a") <= 2 && ledger.count("undo a") <= 2, "\(last): \(ledger.lines)")
    }
  }

  @Test func `A type that is not Codable stops the run before the body`() async throws {
    let (store, ledger) = (MemoryCheckpointStore(), Ledger())
    let chain = Chain("tuple") { (input: Int) in
      try await step("a") {
        ledger.add("a")
      } undo: {
        ledger.add("undo a")
      }
      _ = try await step("tuple") {
        ledger.add("tuple"); return (1, 2)
      }
      return input
    }
    await #expect(throws: CheckpointError.self) { try await chain.run(1, id: "x", in: store) }
    #expect(ledger.lines == ["a"])
    #expect(try await chain.unfinished(in: store) == ["x"])
  }

  @Test func `Optionals and empty values are stored`() async throws {
    let (store, ledger) = (MemoryCheckpointStore(), Ledger())
    let chain = Chain("optional") { (_: Int) in
      let none = try await step("none") { () -> Int? in
        ledger.add("none"); return nil
      }
      let some = try await step("some") { () -> Int? in
        ledger.add("some"); return 3
      }
      if ledger.count("stop") == 0 {
        ledger.add("stop")
        withUnsafeCurrentTask { $0?.cancel() }
      }
      try await step("void") {}
      return [none, some]
    }
    _ = try? await chain.run(1, id: "x", in: store)
    #expect(try await chain.run(1, id: "x", in: store) == [nil, 3])
    #expect(ledger.lines == ["none", "some", "stop"])
  }

  @Test func `A value over the limit is an error of its step`() async throws {
    let (store, ledger) = (MemoryCheckpointStore(), Ledger())
    let chain = Chain("large") { (count: Int) in
      try await step("a") {
        [Int](repeating: 1, count: count)
      } undo: {
        ledger.add("undo \($0.count)")
      }
      return count
    }
    await #expect(throws: CheckpointError.self) { try await chain.run(100, id: "x", in: store, maxValueSize: 50) }
    #expect(ledger.lines == ["undo 100"])
  }

  // MARK: - Keys, versions and waits
}
