// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import Testing

/// The pages of a directory.
@Suite(.timeLimit(.minutes(10))) struct ListTests {
  private let directory: TemporaryDirectory
  private let store: FileCheckpointStore

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    store = try FileCheckpointStore(directory: directory.url)
  }

  /// Writes an empty file for each id: a listing reads only names.
  private func make(_ ids: some Sequence<String>) throws {
    for id in ids { try Data().write(to: URL(fileURLWithPath: store.location(of: id))) }
  }

  private func pages(limit: Int) async throws -> (ids: [String], count: Int) {
    var (ids, count): ([String], Int) = ([], 0)
    while true {
      let page = try await store.list(after: ids.last, limit: limit)
      ids += page.ids
      count += 1
      if !page.hasMore { return (ids, count) }
    }
  }

  /// `%` sorts before letters and digits, and what it stands for mostly after them.
  @Test(arguments: [1, 7, 64, 1_000])
  func `Pages are ordered by the bytes of ids, not by file names`(limit: Int) async throws {
    let ids = (0..<300).map { number in ["a\(number)", "A\(number)", "é\(number)", "\(number)~"][number % 4] }
    try make(ids)
    let sorted = ids.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    let (found, count) = try await pages(limit: limit)
    #expect(found == sorted)
    #expect(count == (ids.count + limit - 1) / limit)
  }

  @Test
  func `A page shows what was saved and removed since the page before`() async throws {
    try make((0..<100).map { "id-\(100 + $0)" })
    let first = try await store.list(after: nil, limit: 10)
    #expect(first.ids.last == "id-109")
    for round in 0..<50 {
      let id = "id-109-\(round)"
      try make([id])
      #expect(try await store.list(after: "id-109", limit: 1).ids == [id])
      try await store.remove(id)
      #expect(try await store.list(after: "id-109", limit: 1).ids == ["id-110"])
    }
  }
}
