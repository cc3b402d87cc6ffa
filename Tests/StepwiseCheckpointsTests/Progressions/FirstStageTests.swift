// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import Testing

/// The first stage is compared as it is stored.
@Suite(.timeLimit(.minutes(10))) struct FirstStageTests {
  enum Start: Progression, Codable, Equatable {
    case url(URL), number(Double), set(Set<String>), measured(Double, Set<String>), done
    var result: Int? { if case .done = self { 1 } else { nil } }
    @concurrent func next() async throws -> Start { .done }
  }

  private let store = MemoryCheckpointStore()

  private func expectDifferent<P: Progression & Codable>(_ start: P) async throws {
    let error = await #expect(throws: CheckpointError.self) { try await start.run(id: "a", in: store) }
    if case .differentStart("a", _) = error {} else { Issue.record("it is \(String(describing: error))") }
  }

  // G105
  @Test
  func `An absolute URL is the same start, and a relative one is refused`() async throws {
    let base = try #require(URL(string: "http://host/a/"))
    let relative = try #require(URL(string: "book.txt", relativeTo: base))
    for _ in 0..<2 { #expect(try await Start.url(relative.absoluteURL).run(id: "a", in: store) == 1) }
    try await expectDifferent(Start.url(base))
    for url in [relative, URL(fileURLWithPath: "book.txt"), URL(fileURLWithPath: "./x/../book.txt")] {
      let error = await #expect(throws: CheckpointError.self) { try await Start.url(url).run(id: "b", in: store) }
      if case .unencodable("b", _, _) = error {} else { Issue.record("it is \(String(describing: error))") }
    }
  }

  @Test func `A value that is not equal to itself is the same start`() async throws {
    for _ in 0..<2 { #expect(try await Start.number(.nan).run(id: "a", in: store) == 1) }
    try await expectDifferent(Start.number(0))
  }

  @Test func `A set is the same start in any stored order`() async throws {
    let words = (0..<40).map { "word \($0)" }
    for _ in 0..<20 {
      var set = Set<String>()
      for word in words.shuffled() { set.insert(word) }
      #expect(try await Start.set(set).run(id: "a", in: store) == 1)
    }
    try await expectDifferent(Start.set(Set(words.dropFirst())))
  }

  /// Another process stores the set in another order, and NaN is not equal to itself.
  @Test(arguments: [Double.nan, .infinity, -.infinity, 0])
  func `A set beside NaN is the same start in another process`(number: Double) async throws {
    let words = (0..<40).map { "word \($0)" }
    for round in 0..<20 {
      var set = Set<String>(minimumCapacity: 40 << (round % 5))
      for word in words.shuffled() { set.insert(word) }
      #expect(try await Start.measured(number, set).run(id: "a", in: store) == 1)
    }
    for other in [Double.nan, .infinity, -.infinity, 0, 1] where !(other == number || other.isNaN && number.isNaN) {
      try await expectDifferent(Start.measured(other, Set(words)))
    }
    try await expectDifferent(Start.measured(number, Set(words.dropFirst())))
  }

  enum Old: VersionedProgression, Equatable {
    static let schemaVersion = 1
    static let migrations: [CheckpointMigration<Old>] = []
    static let progressionName = "Reading"
    case file(String), done
    var result: Int? { if case .done = self { 1 } else { nil } }
    @concurrent func next() async throws -> Old { .done }
  }

  enum New: VersionedProgression, Equatable {
    static let schemaVersion = 2
    static let migrations: [CheckpointMigration<New>] = [
      CheckpointMigration(from: 1) { (old: Old) in
        if case .file(let name) = old { .file(URL(fileURLWithPath: name), .nan) } else { .done }
      }
    ]
    static let progressionName = "Reading"
    case file(URL, Double), done
    var result: Int? { if case .done = self { 1 } else { nil } }
    @concurrent func next() async throws -> New { .done }
  }

  @Test func `A migrated start is compared as it would be stored`() async throws {
    for try await _ in Old.file("book.txt").stages(id: "a", in: store) { break }
    let start = New.file(URL(fileURLWithPath: "book.txt"), .nan)
    try await expectDifferent(New.file(URL(fileURLWithPath: "other.txt"), .nan))
    for try await _ in start.stages(id: "a", in: store) { break }
    for _ in 0..<2 { #expect(try await start.run(id: "a", in: store) == 1) }
  }
}
