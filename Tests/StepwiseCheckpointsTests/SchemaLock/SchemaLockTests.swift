// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

@Suite struct SchemaLockTests: SchemaLockSuite {
  private let directory: TemporaryDirectory
  let file: String

  init() throws {
    directory = try TemporaryDirectory()
    file = directory.url.appendingPathComponent("Work.schema.json").path
    try check(First.samples, .recorded)
  }

  @Test func `An unchanged type leaves the file unchanged`() throws {
    try check(First.samples, .unchanged)
  }

  @Test func `The file contains the shape`() throws {
    let text = try String(contentsOfFile: file, encoding: .utf8)
    for line in [#""lines[]" : "String""#, #""path" : "String""#, #""size" : "Int""#, #""sizes.*" : "Double""#] {
      #expect(text.contains(line), "\(line) is not in \(text)")
    }
  }

  @Test func `A case may be added and may move`() throws {
    try check(Added.samples, .extended)
    try check(Added.samples, .unchanged)
    // From now on it may not go again.
    refuse(First.samples, "case more", "was removed or renamed")
  }

  @Test func `An optional label may be added`() throws {
    try check(Optionally.samples, .extended)
    try check(Optionally.samples, .unchanged)
  }

  @Test func `A renamed case needs a migration`() throws {
    refuse(
      Renamed.samples,
      "case read",
      "schemaVersion = 1",
      "CheckpointMigration(from: 0)",
      "path: String",
      "size: Int"
    )
  }

  @Test func `A renamed label needs a migration`() throws {
    refuse(Relabelled.samples, "case read", "size (Int) is gone", "CheckpointMigration(from: 0)")
  }

  @Test func `A changed type needs a migration`() throws {
    refuse(Retyped.samples, "case read", "size", "CheckpointMigration(from: 0)")
  }

  @Test func `A raised version needs its migration`() throws {
    refuse(Unmigrated.samples, "schema version 0", "Write CheckpointMigration(from: 0)")
    try check(Migrated.samples, .extended)
    try check(Migrated.samples, .unchanged)
    // The stages of both versions are checked from now on.
    refuse(Unmigrated.samples, "schema version 0")
  }

  @Test func `A renamed type needs its old name`() throws {
    refuse(Other.Work.samples, "SchemaLockTests.First.Work", "progressionName")
  }

  enum First {
    static let samples: [Work] = [.read(path: "a", size: 1), .split(lines: ["b"], sizes: ["c": 0.5]), .done]
    enum Work: Sampled {
      case read(path: String, size: Int), split(lines: [String], sizes: [String: Double]), done
    }
  }

  enum Other {
    enum Work: Progression, Codable {
      static let samples: [Work] = [.read(path: "a", size: 1), .split(lines: ["b"], sizes: ["c": 0.5]), .done]
      case read(path: String, size: Int), split(lines: [String], sizes: [String: Double]), done
      var result: Int? { 1 }
      @concurrent func next() async throws -> Work { try completed() }
    }
  }

  enum Added: Sampled {
    static let samples: [Added] =
      [.more(1), .read(path: "a", size: 1), .split(lines: [], sizes: ["c": 1]), .done]
      + [.split(lines: ["b"], sizes: [:])]
    case more(Int), done, split(lines: [String], sizes: [String: Double]), read(path: String, size: Int)
  }

  enum Optionally: Sampled {
    static let samples: [Optionally] = [.read(path: "a", size: 1, name: "x"), .done]
    case read(path: String, size: Int, name: String?), split(lines: [String], sizes: [String: Double]), done
  }

  enum Renamed: Sampled {
    static let samples: [Renamed] = [.load(path: "a", size: 1), .done]
    case load(path: String, size: Int), split(lines: [String], sizes: [String: Double]), done
  }

  enum Relabelled: Sampled {
    static let samples: [Relabelled] = [.read(path: "a", count: 1), .done]
    case read(path: String, count: Int?), split(lines: [String], sizes: [String: Double]), done
  }

  enum Retyped: Sampled {
    static let samples: [Retyped] = [.read(path: "a", size: "1"), .done]
    case read(path: String, size: String), split(lines: [String], sizes: [String: Double]), done
  }

  enum Unmigrated: Sampled {
    static let schemaVersion = 1
    static let samples: [Unmigrated] = [.read(path: "a", size: 1), .done]
    case read(path: String, size: Double), split(lines: [String], sizes: [String: Double]), done
  }

  enum Migrated: Sampled {
    static let schemaVersion = 1
    static let migrations: [CheckpointMigration<Migrated>] = [
      CheckpointMigration(from: 0) { (old: First.Work) in
        switch old {
        case .read(let path, let size): .read(path: path, size: Double(size))
        case .split(let lines, let sizes): .split(lines: lines, sizes: sizes)
        case .done: .done
        }
      }
    ]
    static let samples: [Migrated] = [.read(path: "a", size: 1), .done]
    case read(path: String, size: Double), split(lines: [String], sizes: [String: Double]), done
  }
}

/// Checks of one file.
protocol SchemaLockSuite {
  var file: String { get }
}

extension SchemaLockSuite {
  func check<P: Progression & Codable>(_ samples: [P], _ expected: SchemaLockResult) throws {
    #expect(try SchemaLock(samples: samples, file: file).check() == expected)
  }

  /// Expects the check to fail, with these words, and to leave the file alone.
  func refuse<P: Progression & Codable>(_ samples: [P], _ words: String...) {
    let before = FileManager.default.contents(atPath: file)
    let error = #expect(throws: SchemaLockError.self) { try SchemaLock(samples: samples, file: file).check() }
    for word in words {
      #expect(error.map { "\($0)" }?.contains(word) == true, "\(word) is not in \(error.map { "\($0)" } ?? "")")
    }
    #expect(FileManager.default.contents(atPath: file) == before)
  }
}

/// A progression whose stages are only stored; all bear one name, as one type does from version to version.
protocol Sampled: VersionedProgression where Result == Int {}

extension Sampled {
  static var progressionName: String { "StepwiseCheckpointsTests.SchemaLockTests.First.Work" }
  static var schemaVersion: Int { 0 }
  static var migrations: [CheckpointMigration<Self>] { [] }
  var result: Int? { 1 }
  @concurrent func next() async throws -> Self { try completed() }
}
