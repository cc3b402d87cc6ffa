// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseCheckpoints

extension StoreConformance {
  /// Ids that a store might confuse, or that might lead out of a directory.
  static let strangeIDs: [String] =
    [
      "", "a", "A", "/", "/../../escape", "..", ".", "\\", "%", "%41", "%61", "~", "~a", " ", "  ", "a ", "a.", "\u{0}",
      "\n", "\u{e9}", "e\u{301}", "\u{130}", "ß", "ss", "ﬃ", "'; drop table x; --", "\"", "*", "?", ":", "|", "<", ">",
      "con", "nul", ".checkpoint", ".lock", ".temporary", "\u{1f468}\u{200d}\u{1f469}", "\u{202e}", "\u{feff}", "日本語",
    ].map { prefix + $0 } + longIDs

  /// Ids of 200 bytes that differ only in the last ones.
  private static let longIDs: [String] =
    ["x", "X", "/", "%"].flatMap { filler in
      ["1", "2"].map { end in
        prefix + String(repeating: filler, count: 200 - prefix.utf8.count - 1) + end
      }
    }

  func tellsIDsApart() async throws {
    let (ids, rule) = (Self.strangeIDs, "Ids that differ in a byte are different ids")
    try await removeAll()
    for id in ids {
      do {
        try await withLease(id) { lease in
          try await store.save(record(id, stage: Array("it is \(id)".utf8)), ifVersionIs: nil, under: lease)
        }
      } catch let error as CheckpointError {
        throw CheckpointStoreViolation(rule: rule, detail: "\(id.debugDescription), never used before: \(error)")
      }
    }
    for id in ids {
      let stage = try await store.load(id)?.stage
      try expect(stage == Array("it is \(id)".utf8), rule, id.debugDescription)
    }
    let listed = try await self.ids().map { Array($0.utf8) }
    let expected = ids.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
    try expect(listed == expected, "All ids are listed as they are", "\(listed.count) of \(expected.count)")
    try await removeAll()
    try expect(try await self.ids().isEmpty, "All ids can be removed", "some are left")
  }

  func refusesImpossibleIDs() async throws {
    for id in ["", String(repeating: "x", count: 201), String(repeating: "é", count: 101)] {
      try await expectError(
        "An id of no bytes, or of more than 200, is refused",
        { if case .invalidID = $0 { true } else { false } }
      ) { _ = try await store.acquire(id) }
    }
  }

  func listsInPages() async throws {
    try await removeAll()
    let expected = (0..<10).map { "conformance-page-\($0)" }
    for id in expected.reversed() {
      try await withLease(id) { lease in try await store.save(record(id), ifVersionIs: nil, under: lease) }
    }
    for limit in [1, 3, 10, 11] {
      let listed = try await ids(pages: limit)
      try expect(listed == expected, "The pages together contain every id once, in order", "by \(limit): \(listed)")
    }
    try await store.remove(expected[4])
    for last in [expected[4], expected[4] + "x"] {
      let next = try await store.list(after: last, limit: 1).ids
      try expect(next == [expected[5]], "A page may start after an id that has no record", "after \(last): \(next)")
    }
  }
}
