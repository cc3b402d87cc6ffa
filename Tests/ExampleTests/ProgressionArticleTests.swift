// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// The samples of the article on progressions.
@Suite(.timeLimit(.minutes(5)))
struct ProgressionArticleTests {
  @Test func `A progression resumes from any stage`() async throws {
    var last = Backup.list(folder: ["b", "a", "c"])
    for try await stage in last.stages {
      last = stage
      if case .copy(_, let done) = stage, done.count == 2 { break }
    }
    let files = try await last.run()

    #expect(last == .copy(remaining: ["c"], done: ["a", "b"]))
    #expect(files == ["a", "b", "c"])
  }

  @Test func `A chain undoes what the stages of a progression did`() async throws {
    @Sendable func verify(_ files: [String]) async throws -> Int {
      guard files.count < 3 else { throw Failure("too many") }
      return files.count
    }

    let backup = Chain("list") { (folder: [String]) in folder }
      .appending("copy", running: Copying.start)
      .then("verify") { files in try await verify(files) }

    #expect(try await backup.run(["a", "b"]) == 2)
    #expect(Copying.log.elements == ["copy a", "copy b"])
    await #expect(throws: Failure("too many")) { try await backup.run(["c", "d", "e"]) }
    #expect(Copying.log.elements.dropFirst(5) == ["remove e", "remove d", "remove c"])
  }

  @Test func `The result is transformed`() async throws {
    let shown = Recorder<Int?>()
    func show(_ stage: some Progression<Int>) { shown.record(stage.result) }

    let count = Backup.list(folder: ["a", "b"]).map { files in files.count }
    for try await stage in count.stages { show(stage) }

    #expect(shown.elements.last == 2)
    #expect(shown.elements.dropLast().allSatisfy { $0 == nil })
  }

  @Test func `A production line runs many progressions`() async {
    let folders = (0..<10).map { ["\($0)"] }
    let shown = Recorder<[String]>()
    func show(_ backup: Backup, _ result: Result<[String], any Error>) {
      if let files = try? result.get(), backup == .list(folder: files) { shown.record(files) }
    }

    let line = ProductionLine<Backup>(maxConcurrent: 4)
    for folder in folders { line.add(.list(folder: folder)) }
    line.finish()
    for await (backup, result) in line.results { show(backup, result) }

    #expect(shown.elements.sorted { $0[0] < $1[0] } == folders)
  }

  @Test func `Several consumers see one run`() async throws {
    let shown = Recorder<Backup>()
    let show: @Sendable (Backup) -> Void = { shown.record($0) }

    let shared = Backup.list(folder: ["a", "b"]).stages.shared(.latest)
    async let log: Void = { for try await stage in shared { show(stage) } }()
    for try await stage in shared { show(stage) }
    try await log

    #expect(shown.elements.count { $0 == .finished(files: ["a", "b"]) } == 2)
  }

  @Test func `A progression is a step of a chain`() async throws {
    let chain = Chain { (folder: [String]) in folder }.appending(running: Backup.list)
    #expect(try await chain.run(["a"]) == ["a"])
  }
}

enum Backup: Progression, Codable, Equatable {
  case list(folder: [String])
  case copy(remaining: [String], done: [String])
  case finished(files: [String])

  func next() async throws -> Backup {
    switch self {
    case .list(let folder): .copy(remaining: folder.sorted(), done: [])
    case .copy(let remaining, let done):
      if let file = remaining.first {
        .copy(remaining: Array(remaining.dropFirst()), done: done + [try await copied(file)])
      } else {
        .finished(files: done)
      }
    case .finished: try completed()
    }
  }

  var result: [String]? {
    if case .finished(let files) = self { files } else { nil }
  }
}

private func copied(_ file: String) async throws -> String { file }

/// Copies files, each of which is removed when the chain around it fails.
private enum Copying: Progression {
  case start([String]), copied([String], remaining: [String])

  static let log = Recorder<String>()

  func next() async throws -> Copying {
    switch self {
    case .start(let files): return .copied([], remaining: files)
    case .copied(let done, let remaining):
      guard let file = remaining.first else { return try completed() }
      try await step("copy \(file)") {
        Self.log.record("copy \(file)")
      } undo: {
        Self.log.record("remove \(file)")
      }
      return .copied(done + [file], remaining: Array(remaining.dropFirst()))
    }
  }

  var result: [String]? {
    if case .copied(let files, []) = self { files } else { nil }
  }
}
