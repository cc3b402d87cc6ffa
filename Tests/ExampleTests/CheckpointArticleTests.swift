// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

#if canImport(CryptoKit)
  import CryptoKit
#endif

/// The samples of the page on checkpoints.
@Suite(.timeLimit(.minutes(5)))
struct CheckpointArticleTests {
  private static func inFolder(_ body: (_ folder: URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("article-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try await body(folder)
  }

  @Test func `A progression continues under an id`() async throws {
    try await Self.inFolder { folder in
      let lines = ["1", "2", "3"]
      let shown = Recorder<Int?>()
      func show(_ stage: Import) { shown.record(stage.result) }

      let store = try FileCheckpointStore(directory: folder)
      let total = try await Import.start(lines: lines).run(id: "import-42", in: store)
      for try await stage in Import.start(lines: lines).stages(id: "import-42", in: store) { show(stage) }

      #expect(total == 6)
      // It is done: nothing runs, and the last stage is what there is to see.
      #expect(shown.elements == [6])
    }
  }

  @Test
  func `A migration reads stages from before a version was declared`() async throws {
    let store = MemoryCheckpointStore()
    for try await _ in ImportV0.sum([1, 2, 3]).stages(id: "old", in: store) { break }
    var record = try #require(try await store.load("old"))
    // The type had the same name then.
    record = CheckpointRecord(
      id: "a",
      progression: Import.progressionName,
      schemaVersion: record.schemaVersion,
      version: 1,
      first: record.first,
      stage: record.stage
    )
    let lease = try await store.acquire("a")
    try await store.save(record, ifVersionIs: nil, under: lease)
    try await store.release(lease)
    #expect(try await Import.sum([1, 2, 3], at: 0).run(id: "a", in: store) == 6)
  }

  /// Reverses the bytes: it needs no other package.
  private static let reversing = PayloadCodec(name: "reversed") {
    $0.reversed()
  } decode: {
    $0.reversed()
  }

  private let order = Chain("order") { (cart: [String]) in
    try await step("pay") { "receipt of \(cart.count)" }
  }

  @Test func `What is stored is encoded, and another codec follows`() async throws {
    let (order, cart, codec) = (order, ["book"], Self.reversing)
    try await Self.inFolder { folder in
      let files = try FileCheckpointStore(directory: folder)
      let store = EncodedCheckpointStore(files, codec: codec)
      let receipt = try await order.run(cart, id: "order-7", in: store)
      #expect(receipt == "receipt of 1")
      #expect(try await files.summaries().first?.content?.codec == "reversed")

      let newCodec = PayloadCodec(name: "none") {
        $0
      } decode: {
        $0
      }
      let rotated = EncodedCheckpointStore(files, codec: newCodec, previous: [codec])
      try await order.resumeAll(in: rotated) { id, outcome in print("\(id): \(outcome)") }
      #expect(try await order.run(cart, id: "order-7", in: rotated) == receipt)
    }
  }

  @Test func `A doc comment makes a codec of two functions`() async throws {
    let (files, order) = (MemoryCheckpointStore(), order)
    @Sendable func compress(_ bytes: [UInt8]) throws -> [UInt8] { bytes.reversed() }
    @Sendable func decompress(_ bytes: [UInt8]) throws -> [UInt8] { bytes.reversed() }
    let codec = PayloadCodec(name: "compressed-1") { bytes in
      try compress(bytes)
    } decode: { bytes in
      try decompress(bytes)
    }
    let store = EncodedCheckpointStore(files, codec: codec)
    for _ in 1...2 { #expect(try await order.run(["book"], id: "order-7", in: store) == "receipt of 1") }
  }

  #if canImport(CryptoKit)
    @Test func `What is stored is encrypted`() async throws {
      func aesGCM(_ name: String, _ key: SymmetricKey) -> PayloadCodec {
        PayloadCodec(name: name) { bytes in
          let box = try AES.GCM.seal(bytes, using: key)
          return Array(box.nonce) + box.ciphertext + box.tag
        } decode: { bytes in
          Array(try AES.GCM.open(AES.GCM.SealedBox(combined: bytes), using: key))
        }
      }
      let (files, order) = (MemoryCheckpointStore(), order)
      let store = EncodedCheckpointStore(files, codec: aesGCM("aes-gcm-1", SymmetricKey(size: .bits256)))
      for _ in 1...2 { #expect(try await order.run(["book"], id: "order-7", in: store) == "receipt of 1") }
      let other = EncodedCheckpointStore(files, codec: aesGCM("aes-gcm-1", SymmetricKey(size: .bits256)))
      await #expect {
        try await order.run(["book"], id: "order-7", in: other)
      } throws: { error in
        if case CheckpointError.undecodable(_, _, "aes-gcm-1", _) = error { true } else { false }
      }
    }
  #endif

  @Test func `An edit is noticed`() async throws {
    try await Self.inFolder { folder in
      let path = folder.appendingPathComponent("Import.schema.json").path
      for _ in 0..<2 {
        try SchemaLock(samples: [Import.start(lines: ["a"]), .sum([1], at: 0), .done(1)], file: path).check()
      }
      #expect(FileManager.default.fileExists(atPath: path))
    }
  }
}

private enum Import: Progression, Codable, Equatable {
  case start(lines: [String])
  case sum([Int], at: Int)
  case done(Int)

  init(_ old: ImportV0) {
    switch old {
    case .sum(let numbers): self = .sum(numbers, at: 0)
    }
  }

  func next() async throws -> Import {
    switch self {
    case .start(let lines): .sum(lines.compactMap { Int($0) }, at: 0)
    case .sum(let numbers, let place): .done(numbers[place...].reduce(0, +))
    case .done: try completed()
    }
  }

  var result: Int? {
    if case .done(let total) = self { total } else { nil }
  }
}

private enum ImportV0: Progression, Codable {
  case sum([Int])

  func next() async throws -> ImportV0 { try completed() }
  var result: Int? { nil }
}

extension Import: VersionedProgression {
  static let schemaVersion = 1
  static let migrations: [CheckpointMigration<Import>] = [
    CheckpointMigration(from: 0) { (old: ImportV0) in Import(old) }
  ]
}
