// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// Durable runs of the current format are resumed for ever; those of the first one were never released, and are refused.
@Suite(.timeLimit(.minutes(10))) struct GoldenRunTests {
  private let ledger = Ledger()
  private let directory: TemporaryDirectory
  private let store: FileCheckpointStore

  init() throws { (directory, store) = try GoldenTests.copies() }

  private var chain: Chain<Int, String> {
    Chain("golden") { [ledger] (count: Int) in
      let goods = try await step("reserve") {
        ledger.add("reserve")
        return Goods(parcels: (0..<count).map { Parcel(id: $0) })
      } undo: { goods in
        ledger.add("release \(goods.parcels.count)")
      }
      var card = "visa"
      do {
        try await step("charge visa") { throw Declined(card: "visa") }
      } catch is Declined {
        card = try await step("charge master") {
          ledger.add("charge master")
          return "master"
        } undo: { card in
          ledger.add("refund \(card)")
        }
      }
      try await step("cool down", sleep: .milliseconds(1))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for parcel in goods.parcels {
          group.addTask { try await step("label \(parcel.id)") { ledger.add("label \(parcel.id)") } }
        }
        try await group.waitForAll()
      }
      try await step("ship") { ledger.add("ship") }
      return "\(count) by \(card)"
    }
  }

  @Test func `A stored run continues after its last step`() async throws {
    #expect(try await chain.resume(id: "runs-2-order", in: store) == "2 by master")
    #expect(ledger.lines == ["ship"])
  }

  @Test func `A stored run that has failed undoes what is left`() async throws {
    await #expect(throws: StepFailure.self) { try await chain.resume(id: "runs-2-undoing", in: store) }
    #expect(ledger.lines == ["release 2"])
    #expect(try await !chain.unfinished(in: store).contains("runs-2-undoing"))
  }

  @Test(arguments: ["format-2-order", "format-3-order", "format-2-undoing", "format-3-undoing"])
  func `A run of the first format is refused by a sentence and keeps its record`(id: String) async throws {
    let before = try await store.load(id)
    let error = await #expect(throws: CheckpointError.self) { try await chain.resume(id: id, in: store) }
    #expect("\(error!)".contains("it has format 1 of durable runs, and this version reads 2 alone"))
    #expect(try await !chain.unfinished(in: store).contains(id))
    #expect(try await store.load(id) == before)
  }
}
