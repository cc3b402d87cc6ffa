// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// Chains and steps without a value, and undos that come later.
@Suite(.timeLimit(.minutes(2)))
struct DurableVoidTests {
  private let ledger = Ledger()
  private let store = MemoryCheckpointStore()

  private var cleanUp: Chain<Void, Void> {
    Chain("clean up") { [ledger] in
      try await step("first") { ledger.add("first") }
      try await step("second") { ledger.add("second") }
    }
  }

  private var report: Chain<Void, Int> {
    Chain("report") { [ledger] in
      try await step("count") {
        ledger.add("count")
        return 7
      }
    }
  }

  private var ship: Chain<Int, Void> {
    Chain("ship") { [ledger] (parcel: Int) in ledger.add("pack \(parcel)") }
      .then("send") { [ledger] in ledger.add("send") }
  }

  // G230
  @Test func `Chains without an input or an output run once under an id`() async throws {
    for _ in 1...2 {
      try await cleanUp.run(id: "a", in: store)
      #expect(try await report.run(id: "b", in: store) == 7)
      try await ship.run(3, id: "c", in: store)
    }
    try await cleanUp.start(id: "a", in: store).value
    #expect(try await report.start(id: "b", in: store).value == 7)
    try await ship.start(3, id: "c", in: store).value
    try await cleanUp.resume(id: "a", in: store)
    #expect(try await report.resume(id: "b", in: store) == 7)
    try await ship.resume(id: "c", in: store)
    #expect(ledger.lines == ["first", "second", "count", "pack 3", "send"])
    await #expect(throws: CheckpointError.self) { try await ship.run(4, id: "c", in: store) }
  }

  // G230
  @Test(arguments: [false, true])
  func `A chain without an input and an output continues after a crash at any write`(isLate: Bool) async throws {
    for last in 1...20 {
      let test = DurableVoidTests()
      let dying = DyingStore(test.store, at: last, isLate: isLate)
      _ = try? await test.cleanUp.run(id: "x", in: dying)
      var ids: [String] = []
      try await test.cleanUp.resumeAll(in: test.store) { id, outcome in
        if case .resolved = outcome { ids.append(id) }
      }
      #expect(ids.count <= 1)
      try await test.cleanUp.run(id: "x", in: test.store)
      let lines = test.ledger.lines
      #expect(Set(lines) == ["first", "second"] && lines.count <= 3 && lines.last == "second", "\(last): \(lines)")
      #expect(try await test.cleanUp.unfinished(in: test.store).isEmpty)
      if dying.writes < last { return }
    }
    Issue.record("more writes than expected")
  }

  // G230
  @Test(arguments: [false, true])
  func `A step that returns Void? is replayed with and without its value`(hasValue: Bool) async throws {
    let ledger = ledger
    let chain = Chain("notify") { (isListening: Bool) in
      let listener = isListening ? ledger : nil
      let notified: Void? = try await step("notify") { listener?.add("notified") }
      try await step("stop") {
        ledger.add("stop")
        if ledger.count("stop") == 1 { withUnsafeCurrentTask { $0?.cancel() } }
      }
      try await step("end") { ledger.add("end") }
      return notified != nil
    }
    _ = await Task { [store] in try? await chain.run(hasValue, id: "x", in: store) }.value
    #expect(ledger.count("end") == 0)
    #expect(try await chain.run(hasValue, id: "x", in: store) == hasValue)
    #expect(ledger.lines == (hasValue ? ["notified"] : []) + ["stop", "end"])
  }

  @Test func `A chain whose output cannot be stored is refused before its first body`() async throws {
    let ledger = ledger
    let chain = Chain("pair") { (number: Int) in
      try await step("first") { ledger.add("first") }
      return (number, number)
    }
    let error = await #expect(throws: CheckpointError.self) { try await chain.resume(id: "x", in: store) }
    let text = error?.description ?? ""
    #expect(text.contains("its output") && text.contains("(Int, Int), is not Codable"), "\(text)")
  }

  /// A chain that stops after its first step in its first process, and fails in the second one.
  private func order(hasUndo: Bool, stops: Bool) -> Chain<Int, Int> {
    Chain("order") { [ledger] (number: Int) in
      if hasUndo {
        try await step("reserve") {
          ledger.add("reserve")
        } undo: {
          ledger.add("release")
        }
      } else {
        try await step("reserve") { ledger.add("reserve") }
      }
      if stops { withUnsafeCurrentTask { $0?.cancel() } }
      try await step("charge") {
        ledger.add("charge")
        throw Declined(card: "visa")
      }
      return number
    }
  }

  // G231
  @Test func `An undo that is added to a completed step applies to it`() async throws {
    _ = await Task { [store] in try? await order(hasUndo: false, stops: true).run(1, id: "x", in: store) }.value
    #expect(ledger.lines == ["reserve"])
    let changed = order(hasUndo: true, stops: false)
    #expect(try await changed.checkReplay(in: store) == 1)
    await #expect(throws: Declined(card: "visa")) { try await changed.run(1, id: "x", in: store) }
    #expect(ledger.lines == ["reserve", "charge", "release"])
    await #expect(throws: Declined(card: "visa")) { try await changed.run(1, id: "x", in: store) }
    #expect(ledger.lines == ["reserve", "charge", "release"])
    #expect(try await changed.unfinished(in: store).isEmpty)
  }

  // G231
  @Test(arguments: [false, true])
  func `An undo that is added runs once after a crash at any write`(isLate: Bool) async throws {
    for last in 1...20 {
      let test = DurableVoidTests()
      let stopping = test.order(hasUndo: false, stops: true)
      _ = await Task { try? await stopping.run(1, id: "x", in: test.store) }.value
      let dying = DyingStore(test.store, at: last, isLate: isLate)
      let order = test.order(hasUndo: true, stops: false)
      _ = try? await order.run(1, id: "x", in: dying)
      await #expect(throws: Declined(card: "visa")) { try await order.run(1, id: "x", in: test.store) }
      let lines = test.ledger.lines
      #expect(lines.count("reserve") == 1 && (1...2).contains(lines.count("release")), "\(last): \(lines)")
      #expect(lines.last == "release" && lines.count <= 4, "\(last): \(lines)")
      #expect(try await order.unfinished(in: test.store).isEmpty)
      if dying.writes < last { return }
    }
    Issue.record("more writes than expected")
  }
}

extension [String] {
  fileprivate func count(_ line: String) -> Int { count { $0 == line } }
}
