// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import Testing

@Suite(.timeLimit(.minutes(10))) struct VersionedProgressionTests {
  /// As it was in version 1; it bears the name that stands in the checkpoints.
  enum Old: VersionedProgression, Equatable {
    static let schemaVersion = 1
    static let migrations: [CheckpointMigration<Old>] = []
    static let progressionName = "Work"

    case begin(Int), end(Int)
    var result: Int? { if case .end(let number) = self { number } else { nil } }
    @concurrent func next() async throws -> Old {
      guard case .begin(let number) = self else { return try completed() }
      return .end(number)
    }
  }

  /// As it is in version 2.
  enum New: VersionedProgression, Equatable {
    static let schemaVersion = 2
    static let migrations: [CheckpointMigration<New>] = [
      CheckpointMigration(from: 1) { (old: Old) in
        switch old {
        case .begin(let number): .begin(name: "\(number)")
        case .end(let number): .end(name: "\(number)", isOld: true)
        }
      }
    ]
    static let progressionName = "Work"

    case begin(name: String), end(name: String, isOld: Bool)
    var result: String? { if case .end(let name, _) = self { name } else { nil } }
    @concurrent func next() async throws -> New {
      guard case .begin(let name) = self else { return try completed() }
      return .end(name: name, isOld: false)
    }
  }

  private let store = MemoryCheckpointStore()

  // G89
  @Test func aMigrationReadsWhatAnOlderVersionStored() async throws {
    for try await _ in Old.begin(7).stages(id: "a", in: store) { break }
    #expect(try await store.load("a")?.schemaVersion == 1)
    #expect(try await New.begin(name: "7").run(id: "a", in: store) == "7")
    #expect(try await store.load("a")?.schemaVersion == 2)
    #expect(try await New.begin(name: "7").run(id: "a", in: store) == "7")
  }

  @Test func aFinishedOldStageIsReadAndLeftAsItIs() async throws {
    _ = try await Old.begin(7).run(id: "a", in: store)
    let record = try await store.load("a")
    #expect(try await New.begin(name: "7").run(id: "a", in: store) == "7")
    #expect(try await store.load("a") == record)
  }

  @Test func theFirstStageIsComparedInItsNewShape() async throws {
    _ = try await Old.begin(7).run(id: "a", in: store)
    let error = await #expect(throws: CheckpointError.self) { try await New.begin(name: "8").run(id: "a", in: store) }
    if case .differentStart("a", _) = error {} else { Issue.record("it is \(String(describing: error))") }
  }

  @Test func aLaterVersionIsAnUnknownShapeAndIsKept() async throws {
    _ = try await New.begin(name: "7").run(id: "a", in: store)
    try await expectUnknownShape(2) { try await Old.begin(7).run(id: "a", in: store) }
  }

  @Test func aVersionWithoutMigrationIsAnUnknownShapeAndIsKept() async throws {
    try await save("{\"begin\":{\"name\":\"7\"}}", name: "Work", version: 0)
    try await expectUnknownShape(0) { try await New.begin(name: "7").run(id: "a", in: store) }
  }

  // G89
  @Test func aStageThatDoesNotDecodeIsAnUnknownShapeAndIsKept() async throws {
    for text in ["{\"gone\":{}}", "{}", "[]", "7", "not JSON", ""] {
      try await store.remove("a")
      try await save(text, name: "Work", version: 2)
      try await expectUnknownShape(2) { try await New.begin(name: "7").run(id: "a", in: store) }
    }
  }

  @Test func anotherTypeIsForeign() async throws {
    _ = try await Old.begin(7).run(id: "a", in: store)
    let record = try await store.load("a")
    let error = await #expect(throws: CheckpointError.self) { try await Count.at(0).run(id: "a", in: store) }
    guard case .foreignType("a", _, "Work", "StepwiseCheckpointsTests.Count") = error else {
      Issue.record("it is \(String(describing: error))")
      return
    }
    #expect(try await store.load("a") == record)
  }

  @Test func aPrivateTypeHasANameThatStays() {
    #expect(StageCoder<Hidden>.typeName == "StepwiseCheckpointsTests.VersionedProgressionTests.Hidden")
    #expect(StageCoder<FilePrivate>.typeName == "StepwiseCheckpointsTests.FilePrivate")
  }

  private enum Hidden: Progression, Codable {
    case only
    var result: Int? { 1 }
    @concurrent func next() async throws -> Hidden { try completed() }
  }

  private func save(_ text: String, name: String, version: Int) async throws {
    let bytes = Array(text.utf8)
    let record = CheckpointRecord(
      id: "a",
      progression: name,
      schemaVersion: version,
      version: 1,
      first: bytes,
      stage: bytes
    )
    let lease = try await store.acquire("a")
    try await store.save(record, ifVersionIs: nil, under: lease)
    try await store.release(lease)
  }

  private func expectUnknownShape(_ version: Int, _ body: () async throws -> some Sendable) async throws {
    let record = try await store.load("a")
    let error = await #expect(throws: CheckpointError.self) { _ = try await body() }
    if case .unknownShape("a", _, version, _) = error {} else { Issue.record("it is \(String(describing: error))") }
    #expect(try await store.load("a") == record)
  }
}

private enum FilePrivate: Progression, Codable {
  case only
  var result: Int? { 1 }
  @concurrent func next() async throws -> FilePrivate { try completed() }
}
