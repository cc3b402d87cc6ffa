// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

/// The samples of the README and of the page on checkpoints that count words.
@Suite(.timeLimit(.minutes(5)))
struct ReadmeProgressionTests {
  enum WordCount: Progression, Codable {
    case read(URL), count(String), done(Int)

    func next() async throws -> WordCount {
      switch self {
      case .read(let file): .count(try String(contentsOf: file, encoding: .utf8))
      case .count(let text): .done(text.split(whereSeparator: \.isWhitespace).count)
      case .done: try completed()
      }
    }

    var result: Int? {
      if case .done(let count) = self { count } else { nil }
    }
  }

  private static func inFolder(_ body: (_ folder: URL, _ file: URL) async throws -> Void) async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("readme-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("text")
    try Data("one fish, two fish".utf8).write(to: file)
    try await body(folder.appendingPathComponent("checkpoints"), file)
  }

  @Test func `A progression runs and is iterated`() async throws {
    try await Self.inFolder { _, file in
      let stages = Recorder<String>()
      func show(_ stage: WordCount) { stages.record(String("\(stage)".prefix(4))) }

      let count = try await WordCount.read(file).run()
      for try await stage in WordCount.read(file).stages { show(stage) }

      #expect(count == 4)
      #expect(stages.elements == ["read", "coun", "done"])
    }
  }

  @Test func `A progression is a step`() async throws {
    try await Self.inFolder { _, file in
      let chain = Chain { (url: URL) in url }.appending(running: WordCount.read).then { $0 + 1 }
      let more = try await chain.run(file)
      #expect(more == 5)
    }
  }

  @Test func `A progression continues from a checkpoint`() async throws {
    try await Self.inFolder { folder, file in
      let store = try FileCheckpointStore(directory: folder)
      let count = try await WordCount.read(file).run(id: "count-42", in: store)
      #expect(count == 4)
      try Data().write(to: file)
      #expect(try await WordCount.read(file).run(id: "count-42", in: store) == 4)
      try await store.remove("count-42")
      #expect(try await WordCount.read(file).run(id: "count-42", in: store) == 0)
    }
  }
}
