// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

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
