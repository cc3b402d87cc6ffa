// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import Testing

/// Checkpoints that earlier versions wrote are read for ever.
///
/// A file of `Golden` is never changed; new formats add files.
@Suite(.timeLimit(.minutes(10))) struct GoldenTests {
  enum GoldenWork: VersionedProgression, Equatable {
    static let schemaVersion = 1
    static let migrations: [CheckpointMigration<GoldenWork>] = []
    static let progressionName = "GoldenWork"
    static let start = GoldenWork.reading(path: "a/b.txt", size: 42)

    struct Counts: Codable, Equatable {
      var lines: [Double]
      var text: String
      var when: Date
    }

    case reading(path: String, size: Int)
    case counting(Counts)
    case done(Bool)

    var result: Bool? { if case .done(let isDone) = self { isDone } else { nil } }

    @concurrent func next() async throws -> GoldenWork {
      switch self {
      case .reading:
        .counting(
          Counts(lines: [1, 2.5, -3], text: "é日\n\"", when: Date(timeIntervalSinceReferenceDate: 700_000_000))
        )
      case .counting: .done(true)
      case .done: try completed()
      }
    }
  }

  private let directory: TemporaryDirectory
  private let store: FileCheckpointStore

  init() throws { (directory, store) = try Self.copies() }

  /// A directory with copies of all files, and a store on it.
  static func copies() throws -> (TemporaryDirectory, FileCheckpointStore) {
    let directory = try TemporaryDirectory()
    let store = try FileCheckpointStore(directory: directory.url)
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let golden = folder.appendingPathComponent("Golden")
    for file in try FileManager.default.contentsOfDirectory(at: golden, includingPropertiesForKeys: nil) {
      try FileManager.default.copyItem(at: file, to: directory.url.appendingPathComponent(file.lastPathComponent))
    }
    return (directory, store)
  }

  @Test func `The ids of golden files are listed`() async throws {
    let page = try await store.list(after: nil, limit: 10)
    let runs = [
      "format-2-order", "format-2-undoing", "format-3-order", "format-3-undoing", "runs-2-order", "runs-2-undoing",
    ]
    #expect(page.ids == ["format-1-first", "format-1-middle", "format-1/last é"] + runs)
  }

  @Test(arguments: [("format-1-first", 3), ("format-1-middle", 2), ("format-1/last é", 1)])
  func `Golden files are resumed`(id: String, left: Int) async throws {
    var stages: [GoldenWork] = []
    for try await stage in GoldenWork.start.stages(id: id, in: store) { stages.append(stage) }
    #expect(stages.count == left)
    #expect(stages.last == .done(true))
  }

  @Test func `This version writes golden files byte for byte`() async throws {
    let written = try TemporaryDirectory()
    let other = try FileCheckpointStore(directory: written.url)
    for (id, stages) in [("format-1-first", 1), ("format-1-middle", 2), ("format-1/last é", 3)] {
      var count = 0
      for try await _ in GoldenWork.start.stages(id: id, in: other) {
        count += 1
        if count == stages { break }
      }
      let golden = try Data(contentsOf: URL(fileURLWithPath: store.location(of: id)))
      #expect(try Data(contentsOf: URL(fileURLWithPath: other.location(of: id))) == golden)
    }
    #expect(try written.names == directory.names.filter { $0.hasPrefix("format-1") })
  }
}
