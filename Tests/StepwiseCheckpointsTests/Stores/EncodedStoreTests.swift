// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

@testable import StepwiseCheckpoints

/// What an encoded store holds, and who can read it.
@Suite(.timeLimit(.minutes(10))) struct EncodedStoreTests {
  private let old = PayloadCodec.masking("old")
  private let new = PayloadCodec.masking("new", key: 0xa5)

  // G248
  @Test func `An encoded store keeps the promises of the store that it encodes`() async throws {
    try await checkCheckpointStore(EncodedCheckpointStore(MemoryCheckpointStore(), codec: old))
    let clock = ManualClock()
    let leases = MemoryCheckpointStore(leaseDuration: .seconds(60), clock: clock)
    try await checkCheckpointStore(EncodedCheckpointStore(leases, codec: old), passTime: { clock.advance(by: $0) })
    let directory = try TemporaryDirectory()
    let (old, new) = (old, new)
    try await checkCheckpointStore(
      EncodedCheckpointStore(try FileCheckpointStore(directory: directory.url), codec: new, previous: [old])
    ) {
      EncodedCheckpointStore(try FileCheckpointStore(directory: directory.url), codec: old, previous: [new])
    }
    let twice = EncodedCheckpointStore(EncodedCheckpointStore(MemoryCheckpointStore(), codec: old), codec: new)
    try await checkCheckpointStore(twice)
  }

  // MARK: - What is stored

  /// The bytes of all files in a directory.
  private func bytes(in directory: TemporaryDirectory) throws -> [UInt8] {
    try directory.names.flatMap { name in try Data(contentsOf: directory.url.appendingPathComponent(name)) }
  }

  /// Runs a chain and a progression whose values, errors, reasons and names of steps contain "secret", and returns whether
  /// a file has contained it after any write.
  private func showsSecret(_ encode: (any CheckpointStore) -> any CheckpointStore) async throws -> Bool {
    let directory = try TemporaryDirectory(inMemory: true)
    let shown = Recorder<Bool>()
    let files = TappedStore(base: try FileCheckpointStore(directory: directory.url)) { [self] _, write in
      try await write()
      shown.record(try bytes(in: directory).contains(text: "secret"))
    }
    let store = encode(files)
    let chain = Chain("order") { (card: String) in
      try await step("secret step") {
        "\(card) value"
      } undo: { _ in
        throw CodecFailure(description: "secret undo")
      }
      try? await step("pay") { throw Declined(card: "secret error") }
      try? await step("book") { throw CodecFailure(description: "secret text") }
      try await step("wait", sleep: .milliseconds(1))
      if card == "secret failure" { throw Declined(card: card) }
      return "secret output"
    }
    func use(_ store: some CheckpointStore) async throws {
      #expect(try await chain.run("secret card", id: "done", in: store) == "secret output")
      #expect(try await chain.run("secret card", id: "done", in: store) == "secret output")
      await #expect(throws: Declined(card: "secret failure")) {
        try await chain.run("secret failure", id: "failed", in: store)
      }
      for try await _ in Spelling.letters(["secret"]).stages(id: "word", in: store) {}
    }
    try await use(store)
    #expect(shown.elements.count > 12)
    return shown.elements.contains(true)
  }

  // G249
  @Test func `No value, error or name of a step is readable in the files of an encoded store`() async throws {
    #expect(try await showsSecret { $0 })
    #expect(try await !showsSecret { EncodedCheckpointStore($0, codec: old) })
  }

  /// A progression of which each stage is encoded as its letters.
  private enum Spelling: Progression, Codable, Equatable {
    case letters([String])
    case word(String)

    func next() async throws -> Spelling {
      guard case .letters(let letters) = self else { return try completed() }
      return .word(letters.joined())
    }

    var result: String? { if case .word(let word) = self { word } else { nil } }
  }

  // MARK: - Crashes and other codecs

  /// Crashes an order at each of its writes, and resumes it in another store over the same records.
  private func crashAtEachWrite(
    isLate: Bool,
    _ first: (any CheckpointStore) -> any CheckpointStore,
    then second: (any CheckpointStore) -> any CheckpointStore
  ) async throws {
    func run(_ orders: Orders, in store: some CheckpointStore) async throws -> String {
      try await orders.chain.run(2, id: "o", in: store)
    }
    for write in 1... {
      let (orders, records) = (Orders(), MemoryCheckpointStore())
      let dying = DyingStore(records, at: write, isLate: isLate)
      _ = try? await run(orders, in: first(dying))
      #expect(try await run(orders, in: second(records)) == "receipt")
      // The result of a run that has ended is read again.
      #expect(try await run(orders, in: second(records)) == "receipt")
      for step in ["reserve", "charge", "ship 0", "ship 1"] { #expect((1...2).contains(orders.ledger.count(step))) }
      #expect(!orders.ledger.lines.contains { $0 == "release" || $0.hasPrefix("refund") })
      if !dying.hasDied {
        #expect(write > 6)
        break
      }
    }
  }

  // G250
  @Test(arguments: [false, true])
  func `A durable chain resumes after a crash at each write, also with another codec`(isLate: Bool) async throws {
    let (old, new) = (old, new)
    let encoded: (any CheckpointStore) -> any CheckpointStore = { EncodedCheckpointStore($0, codec: old) }
    let rotated: (any CheckpointStore) -> any CheckpointStore = {
      EncodedCheckpointStore($0, codec: new, previous: [old])
    }
    try await crashAtEachWrite(isLate: isLate, encoded, then: encoded)
    try await crashAtEachWrite(isLate: isLate, encoded, then: rotated)
    // What was stored before there was a codec.
    try await crashAtEachWrite(isLate: isLate, { $0 }, then: rotated)
  }

  // G250
  @Test func `A progression continues with the codec that follows, and from before there was one`() async throws {
    for first in [nil, old] {
      let records = MemoryCheckpointStore()
      func stop(in store: some CheckpointStore) async throws {
        for try await stage in Count.at(0).stages(id: "c", in: store) where stage == .at(2) { break }
      }
      if let first {
        try await stop(in: EncodedCheckpointStore(records, codec: first))
      } else {
        try await stop(in: records)
      }
      #expect(try await records.load("c")?.codec == first?.name)
      let store = EncodedCheckpointStore(records, codec: new, previous: [old])
      let performed = try await logged { _ = try await Count.at(0).run(id: "c", in: store) }
      #expect(performed == [2, 3])
      #expect(try await records.load("c")?.codec == "new")
      // The old codec is not needed any more.
      #expect(try await Count.at(0).run(id: "c", in: EncodedCheckpointStore(records, codec: new)) == "three")
    }
  }

  // MARK: - Codecs that are missing or fail

  /// Leaves an order behind whose process has died after two steps.
  private func leaveOrder(_ orders: Orders, in records: MemoryCheckpointStore, codec: PayloadCodec) async throws {
    let dying = DyingStore(records, at: 5)
    await #expect(throws: DyingStore.Death.self) {
      try await orders.chain.run(2, id: "o", in: EncodedCheckpointStore(dying, codec: codec))
    }
  }

  /// Expects an error of a run that changes and undoes nothing.
  private func expectStop(
    _ orders: Orders,
    in store: some CheckpointStore,
    over records: MemoryCheckpointStore,
    _ isExpected: (CheckpointError) -> Bool
  ) async throws {
    let (before, lines) = (try await records.load("o"), orders.ledger.lines)
    let error = await #expect(throws: CheckpointError.self) { try await orders.chain.run(2, id: "o", in: store) }
    #expect(error.map(isExpected) == true, "\(String(describing: error))")
    #expect(try await records.load("o") == before)
    #expect(orders.ledger.lines == lines)
    // It may have no outcome, so it is not left out.
    #expect(try await orders.chain.unfinished(in: store) == ["o"])
    #expect(try await Chain("other") { (count: Int) in count }.unfinished(in: store).isEmpty)
  }

  private static func names(_ codec: String) -> (CheckpointError) -> Bool {
    { error in
      guard case .unknownCodec("o", "memory", codec) = error else { return false }
      return error.cause.contains("\"\(codec)\"") && error.cause.contains("add that codec")
    }
  }

  // G251
  @Test func `A codec that the store does not have is an error that names it, and the run is resumable`() async throws {
    let (orders, records) = (Orders(), MemoryCheckpointStore())
    try await leaveOrder(orders, in: records, codec: old)
    try await expectStop(orders, in: EncodedCheckpointStore(records, codec: new), over: records, Self.names("old"))
    // The store that was forgotten to be encoded.
    try await expectStop(orders, in: records, over: records, Self.names("old"))
    let failures = Recorder<String>()
    try await orders.chain.resumeAll(in: records) { id, outcome in
      if case .failed(CheckpointError.unknownCodec(_, _, let codec)) = outcome { failures.record("\(id) \(codec)") }
    }
    #expect(failures.elements == ["o old"])
    let store = EncodedCheckpointStore(records, codec: new, previous: [old])
    #expect(try await orders.chain.resume(id: "o", in: store) == "receipt")

    for try await _ in Count.at(0).stages(id: "c", in: store) { break }
    await #expect { try await Count.at(0).run(id: "c", in: records) } throws: {
      if case CheckpointError.unknownCodec("c", _, "new") = $0 { true } else { false }
    }
    #expect(try await Count.at(0).run(id: "c", in: store) == "three")
  }

  // G252
  @Test func `A codec that cannot decode stops the run, which undoes nothing and is resumable`() async throws {
    let (orders, records) = (Orders(), MemoryCheckpointStore())
    try await leaveOrder(orders, in: records, codec: old)
    let wrong = EncodedCheckpointStore(records, codec: .masking("old", key: 1))
    try await expectStop(orders, in: wrong, over: records) { error in
      guard case .undecodable("o", "memory", "old", "the key is another one") = error else { return false }
      return error.cause.contains("\"old\"")
    }
    await #expect(throws: CheckpointError.self) { try await orders.chain.cancel(id: "o", in: wrong) }
    #expect(try await orders.chain.run(2, id: "o", in: EncodedCheckpointStore(records, codec: old)) == "receipt")
  }

  // G253
  @Test func `A value that the codec cannot encode fails its step, which is undone`() async throws {
    let (orders, records) = (Orders(), MemoryCheckpointStore())
    let mask = PayloadCodec.masking("mask")
    let picky = PayloadCodec(name: "picky") { bytes in
      if bytes == Array("\"receipt\"".utf8) { throw CodecFailure(description: "it is a receipt") }
      return try mask.encode(bytes)
    } decode: {
      try mask.decode($0)
    }
    let store = EncodedCheckpointStore(records, codec: picky)
    for _ in 1...2 {
      await #expect { try await orders.chain.run(1, id: "o", in: store) } throws: {
        guard case CheckpointError.unstorable("o", _, "charge", let reason) = $0 else { return false }
        return reason == "the codec \"picky\" cannot encode it: it is a receipt"
      }
    }
    let lines = orders.ledger.lines
    #expect(lines.prefix(4) == ["reserve", "charge", "refund receipt", "release"])
    #expect(lines.count { $0 == "release" } == 1)
    #expect(try await orders.chain.unfinished(in: store).isEmpty)

    let output = Chain("output") { (_: Int) in "receipt" }
    await #expect { try await output.run(1, id: "p", in: store) } throws: {
      if case CheckpointError.unstorable("p", _, "its output", _) = $0 { true } else { false }
    }
    let input = Chain("input") { (_: String) in 1 }
    await #expect { try await input.run("receipt", id: "q", in: store) } throws: {
      if case CheckpointError.unstorable("q", _, "its input", _) = $0 { true } else { false }
    }
    #expect(try await records.load("q") == nil)
  }

  // G253
  @Test func `A codec that cannot encode anything stops the run, which is resumable`() async throws {
    let (isBroken, mask) = (CancellationToken(), PayloadCodec.masking("mask"))
    let codec = PayloadCodec(name: "mask") { bytes in
      if isBroken.isCancelled { throw CodecFailure(description: "no key") }
      return try mask.encode(bytes)
    } decode: {
      try mask.decode($0)
    }
    let (orders, records) = (Orders(), MemoryCheckpointStore())
    var broken = orders
    broken.check = { step in if step == "ship 0" { isBroken.cancel() } }
    await #expect {
      try await broken.chain.run(2, id: "o", in: EncodedCheckpointStore(records, codec: codec))
    } throws: {
      guard case CheckpointError.unencodable("o", _, let reason) = $0 else { return false }
      return reason == "the codec \"mask\" cannot encode it: no key"
    }
    #expect(!orders.ledger.lines.contains("release"))
    let store = EncodedCheckpointStore(records, codec: mask)
    #expect(try await orders.chain.resume(id: "o", in: store) == "receipt")
    #expect(orders.ledger.count("charge") == 1)

    let error = await #expect(throws: CheckpointError.self) {
      try await Count.at(0).run(id: "c", in: EncodedCheckpointStore(records, codec: codec))
    }
    if case .unencodable("c", _, _)? = error {} else { Issue.record("it is \(String(describing: error))") }
    #expect(try await records.load("c") == nil)
  }

  @Test func `A run in one encoded store is cancelled through another one over the same records`() async throws {
    let (records, begun, ledger) = (MemoryCheckpointStore(), Once<Void>(), Ledger())
    let chain = Chain("wait") { (number: Int) in
      try await step("wait") {
        begun.settle(())
        await CancellationToken().waitForCancellation()
      }
      return number
    }
    .finally { _ in ledger.add("finally") }
    let run = chain.start(1, id: "w", in: EncodedCheckpointStore(records, codec: old))
    await begun.valueIgnoringCancellation()
    #expect(try await chain.cancel(id: "w", in: EncodedCheckpointStore(records, codec: old), reason: "customer"))
    guard case .cancelled(let cancellation) = await run.outcome else {
      Issue.record("it was not cancelled")
      return
    }
    #expect(cancellation.reason == "customer" && ledger.lines == ["finally"])
  }

  // MARK: - Summaries

  // G254
  @Test func `A summary names the codec, and does not report what is encoded as damaged`() async throws {
    let directory = try TemporaryDirectory(inMemory: true)
    let files = try FileCheckpointStore(directory: directory.url)
    let store = EncodedCheckpointStore(files, codec: new, previous: [old])
    _ = try await Orders().chain.run(1, id: "done", in: store)
    _ = try? await Orders().chain.run(2, id: "left", in: EncodedCheckpointStore(DyingStore(files, at: 4), codec: old))
    for try await _ in Count.at(0).stages(id: "stage", in: store) { break }
    _ = try await Count.at(0).run(id: "plain", in: files)
    let summaries = try await files.summaries()
    #expect(summaries.map(\.id) == ["done", "left", "plain", "stage"])
    #expect(summaries.map(\.content?.codec) == ["new", "old", nil, "new"])
    #expect(summaries.map(\.content?.stage) == [nil, nil, "done", nil])
    #expect(summaries.map(\.content?.progression).first == "chain order")
    #expect(summaries.allSatisfy { $0.error == nil && $0.content?.failure == nil })
  }

  @Test func `A payload that was cut or extended is damaged`() async throws {
    let records = MemoryCheckpointStore()
    let store = EncodedCheckpointStore(records, codec: old)
    _ = try await Count.at(0).run(id: "c", in: store)
    let whole = try #require(try await records.load("c"))
    let mark = Array(whole.first.prefix(5))
    for first in [whole.first.dropLast(), whole.first + [0], mark, mark + [2]] as [[UInt8]] {
      let lease = try await records.acquire("d")
      let record = CheckpointRecord(
        id: "d",
        progression: whole.progression,
        schemaVersion: 0,
        version: 1,
        first: first,
        stage: whole.stage
      )
      try await records.save(record, ifVersionIs: records.load("d")?.version, under: lease)
      try await records.release(lease)
      await #expect { try await Count.at(0).run(id: "d", in: store) } throws: {
        if case CheckpointError.damaged("d", _, _) = $0 { true } else { false }
      }
    }
  }
}
