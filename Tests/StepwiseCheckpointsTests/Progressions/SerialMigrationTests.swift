// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import Testing

/// Progressions in a row have the version and the migrations of each of them.
@Suite(.timeLimit(.minutes(10))) struct SerialMigrationTests {
  enum Old: VersionedProgression, Equatable {
    static let schemaVersion = 1
    static let migrations: [CheckpointMigration<Old>] = []
    static let progressionName = "Work"
    case begin(Int), end(Int)
    var result: Int? { if case .end(let number) = self { number } else { nil } }
    @concurrent func next() async throws -> Old { if case .begin(let number) = self { .end(number) } else { self } }
  }

  enum New: VersionedProgression, Equatable {
    static let schemaVersion = 2
    static let migrations: [CheckpointMigration<New>] = [
      CheckpointMigration(from: 1) { (old: Old) in
        switch old {
        case .begin(let number): .begin(url: URL(fileURLWithPath: "/\(number)"), number)
        case .end(let number): .end(number: number)
        }
      }
    ]
    static let progressionName = "Work"
    case begin(url: URL, Int), end(number: Int)
    var result: Int? { if case .end(let number) = self { number } else { nil } }
    @concurrent func next() async throws -> New {
      if case .begin(_, let number) = self { .end(number: number) } else { self }
    }
  }

  private let store = MemoryCheckpointStore()
  private let new = (1...3).map { New.begin(url: URL(fileURLWithPath: "/\($0)"), $0) }

  @Test func `The version of a serial is that of its progressions`() async throws {
    _ = try await Serial([Old.begin(1)]).run(id: "a", in: store)
    let record = try await store.load("a")
    #expect(record?.schemaVersion == 1)
    #expect(record?.progression == "Stepwise.Serial<Work>")
    #expect(StageCoder<Serial<Count>>().name == "Stepwise.Serial<StepwiseCheckpointsTests.Count>")
  }

  @Test(arguments: 1...8) func `Any stage is migrated`(last: Int) async throws {
    var count = 0
    for try await _ in Serial((1...3).map(Old.begin)).stages(id: "a", in: store) {
      count += 1
      if count == last { break }
    }
    #expect(count == last)
    #expect(try await Serial(new).run(id: "a", in: store) == [1, 2, 3])
    #expect(try await store.load("a")?.schemaVersion == (last == 8 ? 1 : 2))
    // The first stage was migrated as well.
    await #expect(throws: CheckpointError.self) { try await Serial(new.dropLast()).run(id: "a", in: store) }
  }

  @Test func `A serial of serials is migrated`() async throws {
    let old = Serial([Serial([Old.begin(1)]), Serial([Old.begin(2), .begin(3)])])
    var count = 0
    for try await _ in old.stages(id: "a", in: store) {
      count += 1
      if count == 6 { break }
    }
    let result = try await Serial([Serial([new[0]]), Serial([new[1], new[2]])]).run(id: "a", in: store)
    #expect(result == [[1], [2, 3]])
  }

  @Test func `A version without migration is an unknown shape`() async throws {
    for try await _ in Serial(new).stages(id: "a", in: store) { break }
    let error = await #expect(throws: CheckpointError.self) { try await Serial([Old.begin(1)]).run(id: "a", in: store) }
    if case .unknownShape("a", _, 2, _) = error {} else { Issue.record("it is \(String(describing: error))") }
  }
}
