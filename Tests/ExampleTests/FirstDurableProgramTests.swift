// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// A first durable program, written from the articles *Durable chains* and *Test what a crash does*: a printing house
/// prints an edition of a book.
private struct Edition: Codable, Sendable, Equatable {
  var title: String
  var copies: Int
}

private struct Shipment: Codable, Sendable, Equatable {
  var title: String
  var boxes: Int
}

/// Is not private: a process that resumes an order finds the type of a stored error by its name.
struct PaperJam: Error, Codable, Equatable {}
private struct PowerCut: Error {}

/// Stands in for the services of the printing house.
///
/// Each effect has the key that it was called with.
private struct PrintingHouse: Sendable {
  let perform: @Sendable (_ effect: String, _ key: String?) -> Void

  func buyPaper(for edition: Edition, key: String?) async throws -> Int {
    perform("buy paper", key)
    return edition.copies * 200
  }

  func returnPaper(_ sheets: Int, key: String?) async throws { perform("return \(sheets) sheets", key) }

  func print(on sheets: Int, key: String?) async throws {
    if sheets > 100_000 { throw PaperJam() }
    perform("print", key)
  }

  func ship(_ edition: Edition, key: String?) async throws -> Shipment {
    perform("ship", key)
    return Shipment(title: edition.title, boxes: edition.copies / 50)
  }
}

private func printing(_ house: PrintingHouse) -> Chain<Edition, Shipment> {
  Chain("print a book") { (edition: Edition) in
    let sheets = try await step("paper") {
      try await house.buyPaper(for: edition, key: CurrentStep.idempotencyKey)
    } undo: { sheets in
      try await house.returnPaper(sheets, key: CurrentStep.idempotencyKey)
    }
    try await step("print") { try await house.print(on: sheets, key: CurrentStep.idempotencyKey) }
    return try await step("ship") { try await house.ship(edition, key: CurrentStep.idempotencyKey) }
  }
}

@Suite struct FirstDurableProgramTests {
  private let moby = Edition(title: "Moby Dick", copies: 100)
  private let emma = Edition(title: "Emma", copies: 200)

  @Test func `A first durable program has the same effects wherever it crashes`() async throws {
    try await crashEverywhere(input: moby) { ledger in
      printing(PrintingHouse { effect, key in ledger.record(effect, key: key) })
    }
  }

  @Test func `A first durable program that fails is undone wherever it crashes`() async throws {
    await #expect(throws: PaperJam.self) {
      try await crashEverywhere(input: Edition(title: "Ulysses", copies: 1_000)) { ledger in
        printing(PrintingHouse { effect, key in ledger.record(effect, key: key) })
      }
    }
  }

  @Test func `A first durable program continues and cancels what an earlier process left`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "printing-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }

    // The first process loses its power before it has stored that the paper is bought, in two orders.
    let before = Recorder<String>()
    do {
      let book = printing(PrintingHouse { effect, key in before.record("\(effect) \(key ?? "")") })
      for (id, edition) in [("moby", moby), ("emma", emma)] {
        let files = try FileCheckpointStore(directory: folder)
        let crashing = FaultInjectingStore(files, faults: [3: .fail(PowerCut())])
        await #expect(throws: PowerCut.self) { try await book.run(edition, id: id, in: crashing) }
      }
    }

    // The second process cancels one order, and continues what is left.
    let after = Recorder<String>()
    let effects = Recorder<String>()
    let outcomes = Recorder<String>()
    let book = printing(
      PrintingHouse { effect, key in
        effects.record(effect)
        after.record("\(effect) \(key ?? "")")
      }
    )
    let store = try FileCheckpointStore(directory: folder)
    #expect(try await book.unfinished(in: store).sorted() == ["emma", "moby"])
    #expect(try await book.cancel(id: "emma", in: store, reason: "the author has withdrawn it"))
    try await book.resumeAll(in: store) { id, outcome in outcomes.record("\(id): \(outcome)") }

    #expect(
      outcomes.elements.sorted() == [
        "emma: cancelled: the author has withdrawn it", "moby: succeeded with Shipment",
      ]
    )
    #expect(effects.elements.sorted() == ["buy paper", "buy paper", "print", "return 40000 sheets", "ship"])
    #expect(before.elements.count == 2)
    #expect(Set(before.elements).isSubset(of: after.elements))

    // What has ended is kept until it is removed, and runs no step again.
    #expect(try await book.unfinished(in: store).isEmpty)
    #expect(try await store.summaries().map(\.id) == ["emma", "moby"])
    #expect(try await book.run(moby, id: "moby", in: store) == Shipment(title: "Moby Dick", boxes: 2))
    await #expect(throws: CancellationError.self) { try await book.run(emma, id: "emma", in: store) }
    #expect(effects.elements.count == 5)
    try await store.remove("emma")
    #expect(try await store.summaries().map(\.id) == ["moby"])
  }
}
