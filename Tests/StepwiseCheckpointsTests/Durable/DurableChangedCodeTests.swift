// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import Testing

/// Code whose types or undos are others than those of the code that has stored a run.
@Suite(.timeLimit(.minutes(1)))
struct DurableChangedCodeTests {
  private struct Coin: Codable, Equatable {
    let cents: Int
  }

  private let ledger = Ledger()
  private let base = MemoryCheckpointStore()

  /// Reserves, and ships unless the process has died before.
  private func chain<Input: Codable & Sendable, Value: Codable & Sendable, Output: Codable & Sendable>(
    reserving value: Value,
    returning output: Output,
    for _: Input.Type,
    isUndoable: Bool = false
  ) -> Chain<Input, Output> {
    Chain("order") { [ledger] (_: Input) in
      if isUndoable {
        _ = try await step("reserve") {
          ledger.add("reserve")
          return value
        } undo: { _ in
          ledger.add("release")
        }
      } else {
        _ = try await step("reserve") {
          ledger.add("reserve")
          return value
        }
      }
      try await step("ship") { ledger.add("ship") }
      return output
    }
  }

  /// Runs a chain in a process that dies when "ship" has its end.
  private func runUntilDeath<Output: Codable & Sendable>(_ chain: Chain<Int, Output>, writes: Int) async {
    await #expect(throws: DyingStore.Death.self) {
      try await chain.run(1, id: "x", in: DyingStore(base, at: writes))
    }
  }

  private func expectUnknownShape<Output>(
    of what: String,
    at location: SourceLocation = #_sourceLocation,
    _ resume: () async throws -> Output
  ) async throws {
    let lines = ledger.lines
    let error = await #expect(throws: CheckpointError.self, sourceLocation: location) { _ = try await resume() }
    guard case .unknownShape("x", _, _, let reason)? = error else {
      Issue.record("it is \(String(describing: error))", sourceLocation: location)
      return
    }
    #expect(reason.hasPrefix(what), sourceLocation: location)
    #expect(ledger.lines == lines, sourceLocation: location)
  }

  @Test func `A step with a value of another type stops the run, and the code before it resumes`() async throws {
    let old = chain(reserving: 5, returning: 1, for: Int.self)
    await runUntilDeath(old, writes: 3)
    try await expectUnknownShape(of: "step order/reserve") {
      try await chain(reserving: Coin(cents: 5), returning: 1, for: Int.self).run(1, id: "x", in: base)
    }
    #expect(try await old.resume(id: "x", in: base) == 1)
    #expect(ledger.lines == ["reserve", "ship", "ship"])
  }

  @Test func `An input of another type stops the run before its code, and the code before it resumes`() async throws {
    let old = chain(reserving: 5, returning: 1, for: Int.self)
    await runUntilDeath(old, writes: 3)
    try await expectUnknownShape(of: "input") {
      try await chain(reserving: 5, returning: 1, for: Coin.self).resume(id: "x", in: base)
    }
    #expect(try await old.resume(id: "x", in: base) == 1)
  }

  @Test func `An output of another type cannot be read, and stays stored`() async throws {
    let old = chain(reserving: 5, returning: 1, for: Int.self)
    #expect(try await old.run(1, id: "x", in: base) == 1)
    try await expectUnknownShape(of: "output") {
      try await chain(reserving: 5, returning: Coin(cents: 1), for: Int.self).resume(id: "x", in: base)
    }
    #expect(try await old.resume(id: "x", in: base) == 1)
  }

  /// Otherwise what the step has done could not be undone any more.
  // G143
  @Test func `Code without the undo of a completed step is refused, and the code before it undoes`() async throws {
    let old = chain(reserving: 5, returning: 1, for: Int.self, isUndoable: true)
    await runUntilDeath(old, writes: 4)
    let error = await #expect(throws: CheckpointError.self) {
      try await chain(reserving: 5, returning: 1, for: Int.self).resume(id: "x", in: base)
    }
    guard case .differentSteps("x", _, "order/reserve, with undo", "order/reserve")? = error else {
      Issue.record("it is \(String(describing: error))")
      return
    }
    #expect(try await old.cancel(id: "x", in: base))
    await #expect(throws: CancellationError.self) { try await old.resume(id: "x", in: base) }
    #expect(ledger.lines == ["reserve", "ship", "release"])
  }
}
