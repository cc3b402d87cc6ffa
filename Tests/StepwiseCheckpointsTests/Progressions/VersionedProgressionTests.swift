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

  // G108
  @Test func `A migration reads what an older version stored`() async throws {
    for try await _ in Old.begin(7).stages(id: "a", in: store) { break }
    #expect(try await store.load("a")?.schemaVersion == 1)
    #expect(try await New.begin(name: "7").run(id: "a", in: store) == "7")
    #expect(try await store.load("a")?.schemaVersion == 2)
    #expect(try await New.begin(name: "7").run(id: "a", in: store) == "7")
  }

  /// As `New`, with another migration.
  enum Other: VersionedProgression {
    static let schemaVersion = 2
    static let migrations: [CheckpointMigration<Other>] = [
      CheckpointMigration(from: 1) { (old: Old) in if case .end = old { .end } else { .begin } }
    ]

    case begin, end
    var result: Bool? { self == .end ? true : nil }
    @concurrent func next() async throws -> Other { .end }
  }

  @Test func `Migrations of two types run at once`() async throws {
    let bytes = try StageCoder<Old>().encode(.end(7))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<2_000 {
        group.addTask { _ = try StageCoder<New>().decode(bytes, schemaVersion: 1) }
        group.addTask { _ = try StageCoder<Other>().decode(bytes, schemaVersion: 1) }
      }
      try await group.waitForAll()
    }
  }

  @Test func `A finished old stage is read and left unchanged`() async throws {
    _ = try await Old.begin(7).run(id: "a", in: store)
    let record = try await store.load("a")
    #expect(try await New.begin(name: "7").run(id: "a", in: store) == "7")
    #expect(try await store.load("a") == record)
  }

  @Test func `The first stage is compared in its new shape`() async throws {
    _ = try await Old.begin(7).run(id: "a", in: store)
    let error = await #expect(throws: CheckpointError.self) { try await New.begin(name: "8").run(id: "a", in: store) }
    if case .differentStart("a", _) = error {} else { Issue.record("it is \(String(describing: error))") }
  }

  @Test func `A later version is an unknown shape and is kept`() async throws {
    _ = try await New.begin(name: "7").run(id: "a", in: store)
    try await expectUnknownShape(2) { try await Old.begin(7).run(id: "a", in: store) }
  }

  @Test
  func `An older program's error asks for an update, not for removing data`() async throws {
    _ = try await New.begin(name: "7").run(id: "a", in: store)
    let newer = await #expect(throws: CheckpointError.self) { try await Old.begin(7).run(id: "a", in: store) }
    #expect(newer?.cause.contains("this program knows versions up to 1; update the program") == true)
    try await store.remove("a")
    try await save("{\"begin\":{\"name\":\"7\"}}", name: "Work", version: 0)
    let older = await #expect(throws: CheckpointError.self) { try await New.begin(name: "7").run(id: "a", in: store) }
    #expect(older?.cause.contains("declare a CheckpointMigration(from: 0)") == true)
    try await store.remove("a")
    try await save("{\"gone\":{}}", name: "Work", version: 2)
    let edited = await #expect(throws: CheckpointError.self) { try await New.begin(name: "7").run(id: "a", in: store) }
    #expect(edited?.cause.contains("declare schemaVersion 3 and a CheckpointMigration(from: 2)") == true)
    for error in [newer, older, edited] { #expect(error?.description.contains("remove") == false) }
  }

  /// The name of the type stays when it is declared to be versioned.
  private enum Undeclared: Progression, Codable {
    case begin(Int)
    var result: String? { nil }
    @concurrent func next() async throws -> Undeclared { try completed() }
  }

  private enum Declared: VersionedProgression {
    static let schemaVersion = 1
    static let migrations = [
      CheckpointMigration(from: 0) { (old: Undeclared) in
        switch old {
        case .begin(let number): Declared.begin(name: "\(number)")
        }
      }
    ]
    static var progressionName: String { StageCoder<Undeclared>.typeName }

    case begin(name: String)
    var result: String? { if case .begin(let name) = self { name } else { nil } }
    @concurrent func next() async throws -> Declared { try completed() }
  }

  // G108
  @Test
  func `A migration from version 0 reads an undeclared progression's data`() async throws {
    for try await _ in Undeclared.begin(7).stages(id: "a", in: store) { break }
    #expect(try await Declared.begin(name: "7").run(id: "a", in: store) == "7")
  }

  @Test func `A version without migration is an unknown shape and is kept`() async throws {
    try await save("{\"begin\":{\"name\":\"7\"}}", name: "Work", version: 0)
    try await expectUnknownShape(0) { try await New.begin(name: "7").run(id: "a", in: store) }
  }

  // G108
  @Test func `A stage that does not decode is an unknown shape and is kept`() async throws {
    for text in ["{\"gone\":{}}", "{}", "[]", "7", "not JSON", ""] {
      try await store.remove("a")
      try await save(text, name: "Work", version: 2)
      try await expectUnknownShape(2) { try await New.begin(name: "7").run(id: "a", in: store) }
    }
  }

  @Test func `A stage of another type is foreign`() async throws {
    _ = try await Old.begin(7).run(id: "a", in: store)
    let record = try await store.load("a")
    let error = await #expect(throws: CheckpointError.self) { try await Count.at(0).run(id: "a", in: store) }
    guard case .foreignType("a", _, "Work", "StepwiseCheckpointsTests.Count") = error else {
      Issue.record("it is \(String(describing: error))")
      return
    }
    #expect(try await store.load("a") == record)
  }

  @Test func `A private type has a stable name`() {
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
