// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import StepwiseTracing
import Testing

@Suite(.timeLimit(.minutes(2)))
struct DurableChainTests {
  @Test func `A run returns its value and a finished id runs nothing`() async throws {
    let (orders, store) = (Orders(), MemoryCheckpointStore())
    #expect(try await orders.chain.run(2, id: "o", in: store) == "receipt")
    let once = ["reserve", "charge", "ship 0", "ship 1", "finally"]
    #expect(orders.ledger.lines == once)
    #expect(try await orders.chain.run(2, id: "o", in: store) == "receipt")
    #expect(try await orders.chain.start(2, id: "o", in: store).value == "receipt")
    #expect(orders.ledger.lines == once)
    await #expect(throws: CheckpointError.self) { try await orders.chain.run(3, id: "o", in: store) }
    #expect(try await orders.chain.unfinished(in: store).isEmpty)
  }

  /// A process that dies at any write repeats at most the step in progress.
  // G141
  @Test(arguments: [false, true])
  func `A run continues after a crash at any write`(isLate: Bool) async throws {
    for last in 1...20 {
      let (orders, base) = (Orders(), MemoryCheckpointStore())
      let store = DyingStore(base, at: last, isLate: isLate)
      do {
        #expect(try await orders.chain.run(2, id: "o", in: store) == "receipt")
      } catch is DyingStore.Death {
        if try await base.load("o") != nil, !isLate || store.writes < 8 {
          #expect(try await orders.chain.unfinished(in: base) == ["o"], "\(last)")
        }
      }
      #expect(try await orders.chain.run(2, id: "o", in: base) == "receipt")
      let effects = orders.ledger.lines.filter { $0 != "finally" }
      let repeated = Dictionary(grouping: effects) { $0 }.values.filter { $0.count > 1 }
      #expect(Set(effects) == ["reserve", "charge", "ship 0", "ship 1"], "\(last): \(effects)")
      #expect(repeated.count <= 1 && repeated.allSatisfy { $0.count == 2 }, "\(last): \(effects)")
      if store.writes < last { return }
    }
    Issue.record("more writes than expected")
  }

  // G141
  /// The verdict counts, and not what the code would do the next time.
  @Test func `Code that would succeed later completes nothing after an undo`() async throws {
    for last in 1...20 {
      let (ledger, base) = (Ledger(), MemoryCheckpointStore())
      let chain = Chain("code") { (_: Int) in
        for name in ["a", "b"] {
          try await step(name) {
            ledger.add(name)
          } undo: {
            ledger.add("undo " + name)
          }
        }
        ledger.add("try")
        if ledger.count("try") == 1 { throw Declined(card: "first") }
        return 1
      }
      let store = DyingStore(base, at: last, isLate: true)
      var ends: [String] = []
      for store: any CheckpointStore in [store, base] {
        do { ends.append("\(try await chain.run(1, id: "x", in: store))") } catch { ends.append("\(error)") }
      }
      let isUndone = ledger.lines.contains { $0.hasPrefix("undo") }
      #expect(isUndone == (ends[1] != "1"), "\(last): \(ends) \(ledger.lines)")
      if isUndone {
        #expect(ledger.count("undo a") >= 1 && ledger.count("undo b") >= 1)
        #expect(ends[1].contains("first"), "\(last): \(ends)")
      }
      if store.writes < last { return }
    }
    Issue.record("more writes than expected")
  }

  /// What fails is undone once, whatever write the process dies at, and nothing is completed.
  // G141
  @Test(arguments: [false, true])
  func `A failure is undone after a crash at any write`(isLate: Bool) async throws {
    for last in 1...20 {
      var orders = Orders()
      let attempts = Lock(0)
      // It would succeed the next time.
      orders.check = { step in
        let isFirst =
          step == "ship 1"
          && attempts.withLock { attempts in
            attempts += 1
            return attempts == 1
          }
        if isFirst { throw Declined(card: "1") }
      }
      let base = MemoryCheckpointStore()
      let store = DyingStore(base, at: last, isLate: isLate)
      var ends: [String] = []
      for store: any CheckpointStore in [store, base] {
        do { ends.append(try await orders.chain.run(2, id: "o", in: store)) } catch { ends.append("\(error)") }
      }
      let lines = orders.ledger.lines
      if lines.contains("release") {
        #expect(ends.last == "\(Declined(card: "1"))", "\(last): \(ends)")
        #expect(
          lines.count { $0 == "release" } <= 2 && lines.count { $0 == "refund receipt" } <= 2,
          "\(last): \(lines)"
        )
        #expect(lines.count { $0.hasPrefix("onError") } <= 1, "\(last): \(lines)")
        let undos = lines.filter { $0 == "release" || $0.hasPrefix("refund") }
        #expect(undos.first == "refund receipt" && undos.last == "release", "\(last): \(lines)")
      } else {
        #expect(ends.last == "receipt", "\(last): \(ends)")
      }
      #expect(try await orders.chain.unfinished(in: base).isEmpty)
      if store.writes < last { return }
    }
    Issue.record("more writes than expected")
  }

  @Test func `Events, the trace and observers mark replayed steps`() async throws {
    struct Notes: RunObserver {
      let calls: Ledger
      func stepReplayed(_ step: ObservedStep) { calls.add("replayed \(step.step)") }
      func stepFinished(_ step: ObservedStep, duration: Duration, error: (any Error)?) {
        calls.add("finished \(step.step)")
      }
    }
    let (store, calls, bodies) = (MemoryCheckpointStore(), Ledger(), Ledger())
    let chain = Chain("order") { (_: Int) in
      try await step("a") { bodies.add("a") }
      if bodies.lines.count == 1 {
        bodies.add("stop")
        withUnsafeCurrentTask { $0?.cancel() }
      }
      try await step("b") {}
      return 1
    }
    _ = try? await chain.run(1, id: "x", in: store)
    let run = await withRunObserver(Notes(calls: calls)) { chain.start(1, id: "x", in: store) }
    #expect(try await run.value == 1)
    #expect(calls.lines == ["replayed a", "finished a", "finished b", "finished order"])
    var replayed: [String] = []
    for await case .replayed(let step) in run.events { replayed.append("\(step)") }
    #expect(replayed == ["a"])
    #expect(run.trace.text.contains("a · replayed"))
  }

  // G246
  @Test func `A run that its id does not let begin calls no handler, and its trace says why`() async throws {
    let (orders, store) = (Orders(), MemoryCheckpointStore())
    let held = try await store.acquire("o")
    let refused = orders.chain.start(1, id: "o", in: store)
    await #expect(throws: CheckpointError.self) { try await refused.value }
    #expect(orders.ledger.lines.isEmpty)
    #expect(refused.trace.text.hasPrefix("order · failed"), "\(refused.trace.text)")
    try await store.release(held)

    let first = orders.chain.start(1, id: "o", in: store)
    #expect(try await first.value == "receipt")
    let lines = orders.ledger.lines
    let second = orders.chain.start(1, id: "o", in: store)
    #expect(try await second.value == "receipt")
    #expect(orders.ledger.lines == lines)
    let trace = second.trace.text
    #expect(trace.hasPrefix("order · ") && !trace.contains("running"), "\(trace)")
  }

  @Test func `A trace names the stored cancellation, also in the process that continues`() async throws {
    let (orders, store) = (Orders(), MemoryCheckpointStore())
    let first = Task {
      try await Orders(check: { _ in withUnsafeCurrentTask { $0?.cancel() } }).chain.run(1, id: "o", in: store)
    }
    await #expect(throws: CancellationError.self) { try await first.value }
    #expect(try await orders.chain.cancel(id: "o", in: store, reason: "changed her mind"))
    let run = orders.chain.start(1, id: "o", in: store)
    await #expect(throws: CancellationError.self) { try await run.value }
    #expect(run.trace.text.contains("a stored cancellation: changed her mind"), "\(run.trace.text)")
  }

  @Test(arguments: [true, false])
  func `A run is released when it has ended`(fails: Bool) async throws {
    final class Witness: Sendable {}
    weak var witness: Witness?
    do {
      let (object, store) = (Witness(), MemoryCheckpointStore())
      witness = object
      let now: @Sendable () -> Date = { withExtendedLifetime(object) { Date() } }
      _ = try? await Chain("x") { (input: Int) in
        try await step("a") {
          if fails { throw Declined(card: "x") }
        } undo: {
        }
        return input
      }.run(1, id: "x", in: store, now: now)
    }
    #expect(witness == nil)
  }
}
