// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import StepwiseCheckpoints

/// Checks every guarantee of `CheckpointStore`; call it from a test of each store that you write.
///
/// ```swift
/// @Test func `A store keeps the promises of a checkpoint store`() async throws {
///   let store = try TableStore(database)
///   try await checkCheckpointStore(store) { try TableStore(database) }
/// }
/// ```
///
/// Two of the guarantees concern time. Acquiring a held id throws without waiting: three attempts that each take longer
/// than a second violate this. A lease with a duration lasts that long, and equally long after each renewal. Use a
/// store whose leases last a second or two, for which the check waits, or advance the store's clock in `passTime`.
/// Without `passTime`, leases longer than ten seconds are not checked for this.
///
/// All ids that the check uses start with `conformance`, and it removes them at the end. Do not use such ids while it
/// runs.
///
/// - Parameters:
///   - store: The store.
///   - timeLimit: The time limit for a call of the store. A call that exceeds it is a violation and is not awaited.
///   - reopen: Creates another store on the same table or directory, as another process would; nil when that is
///     impossible, for example for a store in memory.
///   - passTime: Lets time pass for the store's leases; nil to wait.
/// - Throws: ``CheckpointStoreViolation``, which names the guarantee, or an unexpected error of the store.
@concurrent
public func checkCheckpointStore(
  _ store: some CheckpointStore,
  timeLimit: Duration = .seconds(30),
  reopen: (@Sendable () async throws -> any CheckpointStore)? = nil,
  passTime: (@Sendable (Duration) async throws -> Void)? = nil
) async throws {
  let check = StoreConformance(store: LimitedStore(base: store, limit: timeLimit))
  try await check.removeAll()
  try await check.keepsRecords()
  try await check.keepsTornRecords()
  try await check.showsWholeRecordsOnly()
  try await check.comparesVersions()
  try await check.letsOneSaveWin()
  try await check.appendsEntries()
  // First, because all other checks rely on it.
  try await check.refusesAtOnce()
  try await check.givesOneLease()
  try await check.renewsLeases(passTime)
  try await check.fencesStaleLeases()
  try await check.countsFencesUp()
  try await check.worksInCancelledTasks()
  try await check.removes()
  try await check.tellsIDsApart()
  try await check.refusesImpossibleIDs()
  try await check.listsInPages()
  try await check.servesManyAtOnce()
  if let reopen { try await check.isSeenByAnother(LimitedStore(base: try await reopen(), limit: timeLimit)) }
  try await check.removeAll()
}

/// A guarantee of `CheckpointStore` that a store violates.
///
/// Its description says which guarantee your store breaks, and what the check saw.
public struct CheckpointStoreViolation: Error, Sendable, CustomStringConvertible {
  /// The guarantee.
  public let rule: String

  /// What happened instead.
  public let detail: String

  /// The guarantee, and what happened instead.
  public var description: String { "\(rule): \(detail)" }
}

/// The rules of `checkCheckpointStore`, each with its own ids.
struct StoreConformance: Sendable {
  static let prefix = "conformance"

  let store: LimitedStore

  func record(_ id: String, _ version: UInt64 = 1, stage: [UInt8] = [1, 2, 3]) -> CheckpointRecord {
    CheckpointRecord(id: id, progression: "Conformance", schemaVersion: 7, version: version, first: [0], stage: stage)
  }

  func expect(_ condition: Bool, _ rule: String, _ detail: @autoclosure () -> String) throws(CheckpointStoreViolation) {
    if !condition { throw CheckpointStoreViolation(rule: rule, detail: detail()) }
  }

  /// Expects an error with a closure that the store must not complete.
  func expectError(
    _ rule: String,
    _ isRight: (CheckpointError) -> Bool,
    _ body: () async throws -> Void
  ) async throws {
    do {
      try await body()
    } catch let error as CheckpointError where isRight(error) {
      return
    } catch {
      throw CheckpointStoreViolation(rule: rule, detail: "it throws \(error)")
    }
    throw CheckpointStoreViolation(rule: rule, detail: "nothing is thrown")
  }

  /// Returns what a closure returns that the store must complete.
  @discardableResult
  func expectNoError<Value>(_ rule: String, _ what: String, _ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch let error where !(error is CheckpointStoreViolation) {
      throw CheckpointStoreViolation(rule: rule, detail: "\(what) throws \(error)")
    }
  }

  func withLease<Value: Sendable>(_ id: String, _ body: (CheckpointLease) async throws -> Value) async throws -> Value {
    let lease = try await store.acquire(id)
    do {
      let value = try await body(lease)
      try await store.release(lease)
      return value
    } catch {
      store.releaseWithoutWaiting(lease)
      throw error
    }
  }

  func removeAll() async throws {
    for id in try await ids() { try await store.remove(id) }
  }

  /// Returns the ids of these rules that the store lists, by pages of a size.
  func ids(pages limit: Int = 100) async throws -> [String] {
    let rule = "A page starts after the last id of the previous page"
    var (ids, last): ([String], String?) = ([], nil)
    while true {
      let page = try await store.list(after: last, limit: limit)
      try expect(
        page.ids.count <= limit,
        "A page has at most as many ids as asked for",
        "\(page.ids.count), not \(limit)"
      )
      let isTrue = last == nil || !page.ids.isEmpty
      try expect(isTrue, "A page says that there is more only when there is", "nothing comes after \(last ?? "")")
      try expect(!page.hasMore || !page.ids.isEmpty, rule, "an empty page says that there is more")
      if let last, let first = page.ids.first {
        try expect(last.utf8.lexicographicallyPrecedes(first.utf8), rule, "\(first) comes after \(last)")
      }
      ids += page.ids.filter { $0.hasPrefix(Self.prefix) }
      last = page.ids.last
      if !page.hasMore { return ids }
    }
  }

  func keepsRecords() async throws {
    let rule = "What was saved is loaded as it was"
    let contents: [[UInt8]] = [[], Array(0...255), [UInt8](repeating: 0xa5, count: 1_000_000)]
    for (index, content) in contents.enumerated() {
      let id = "conformance-keeps-\(index)"
      let nothing = try await store.load(id)
      try expect(nothing == nil, "An id that was never used holds nothing", "\(String(describing: nothing))")
      let saved = record(id, stage: content)
      try await withLease(id) { lease in try await store.save(saved, ifVersionIs: nil, under: lease) }
      let loaded = try await store.load(id)
      try expect(loaded == saved && loaded?.isIntact == true, rule, "\(content.count) bytes differ")
    }
  }

  /// A corrupted record has to be detected by the run that loads it.
  func keepsTornRecords() async throws {
    let id = "conformance-torn"
    var torn = record(id)
    torn.stage.removeLast()
    let saved = torn
    do {
      try await withLease(id) { lease in try await store.save(saved, ifVersionIs: nil, under: lease) }
      let loaded = try await store.load(id)
      let isSame = loaded == saved && loaded?.isIntact == false
      try expect(isSame, "A record keeps its checksum unchanged", "one that was torn is loaded as intact")
    } catch CheckpointError.damaged {
      // A store may also detect the damage itself.
    }
  }

  func showsWholeRecordsOnly() async throws {
    let (id, rule) = ("conformance-whole", "A save replaces the whole record atomically")
    let last: UInt64 = 50
    try await withLease(id) { lease in
      try await withThrowingTaskGroup { group in
        group.addTask {
          for version in 1...last {
            let record = record(id, version, stage: [UInt8](repeating: UInt8(version), count: 1_000))
            try await store.save(record, ifVersionIs: version == 1 ? nil : version - 1, under: lease)
          }
        }
        group.addTask {
          var seen: UInt64 = 0
          while seen < last, !Task.isCancelled {
            guard let loaded = try await store.load(id) else {
              try expect(seen == 0, rule, "version \(seen) was loaded, and then nothing")
              continue
            }
            let stage = [UInt8](repeating: UInt8(truncatingIfNeeded: loaded.version), count: 1_000)
            let isWhole = loaded == record(id, loaded.version, stage: stage) && (seen...last).contains(loaded.version)
            try expect(isWhole, rule, "after version \(seen) something that was never saved is loaded")
            seen = loaded.version
          }
        }
        try await group.waitForAll()
      }
    }
  }

  func comparesVersions() async throws {
    let (id, rule) = ("conformance-versions", "A save replaces the expected version only")
    try await withLease(id) { lease in
      try await expectError(rule, Self.isConflict) { try await store.save(record(id, 3), ifVersionIs: 2, under: lease) }
      try expect(try await store.load(id) == nil, rule, "a refused save was kept")
      try await store.save(record(id, 1), ifVersionIs: nil, under: lease)
      for expected: UInt64? in [nil, 0, 2] {
        try await expectError(rule, Self.isConflict) {
          try await store.save(record(id, 9), ifVersionIs: expected, under: lease)
        }
        try expect(try await store.load(id) == record(id, 1), rule, "a refused save was kept")
      }
      try await store.save(record(id, 2), ifVersionIs: 1, under: lease)
      try expect(try await store.load(id) == record(id, 2), rule, "an accepted save was not kept")
    }
  }

  func letsOneSaveWin() async throws {
    let (id, rule) = ("conformance-one-wins", "Of saves that expect the same version, one wins")
    try await withLease(id) { lease in
      for version: UInt64 in 1...20 {
        let wins = try await withThrowingTaskGroup(of: UInt8?.self) { group in
          for rival: UInt8 in 0..<4 {
            group.addTask {
              do {
                let record = record(id, version, stage: [rival])
                try await store.save(record, ifVersionIs: version == 1 ? nil : version - 1, under: lease)
                return rival
              } catch CheckpointError.conflict {
                return nil
              }
            }
          }
          return try await group.reduce(into: []) { wins, rival in wins += rival.map { [$0] } ?? [] }
        }
        try expect(wins.count == 1, rule, "\(wins.count) of 4 won")
        try expect(try await store.load(id)?.stage == wins, rule, "another one was kept than the one that won")
      }
    }
  }

  func appendsEntries() async throws {
    let (id, rule) = ("conformance-appends", "Entries are added to the stage, in order, and each counts as a version")
    let entries: [[UInt8]] = [[1], [], Array(0...255), [UInt8](repeating: 0, count: 10_000), [0, 0, 0, 9]]
    try await withLease(id) { lease in
      try await expectError(rule, Self.isConflict) { try await store.append([1], ifVersionIs: 1, under: lease) }
      try await store.save(record(id, 1, stage: []), ifVersionIs: nil, under: lease)
      var expected = record(id, 1, stage: [])
      for (index, entry) in entries.enumerated() {
        let version = UInt64(index) + 1
        for wrong in [version - 1, version + 1] {
          try await expectError(rule, Self.isConflict) {
            try await store.append(entry, ifVersionIs: wrong, under: lease)
          }
        }
        try await store.append(entry, ifVersionIs: version, under: lease)
        let length = withUnsafeBytes(of: UInt32(entry.count).bigEndian) { Array($0) }
        expected = record(id, version + 1, stage: expected.stage + length + entry)
        let loaded = try await store.load(id)
        try expect(loaded == expected && loaded?.isIntact == true, rule, "entry \(index) is not loaded as it was")
      }
      let loaded = try await store.entries(of: id)
      try expect(loaded == entries, rule, "\(loaded.count) entries are loaded, not the \(entries.count)")
    }
    try await withLease(id) { lease in
      try await store.append([7], ifVersionIs: 6, under: lease)
      try expect(try await store.entries(of: id) == entries + [[7]], rule, "a further lease appends to something else")
      try await store.save(record(id, 8, stage: []), ifVersionIs: 7, under: lease)
      try expect(try await store.entries(of: id).isEmpty, rule, "entries outlive a save of the whole record")
      try await store.append([8], ifVersionIs: 8, under: lease)
      try expect(try await store.entries(of: id) == [[8]], rule, "an entry after a save is not the only one")
    }
    let lease = try await store.acquire(id)
    try await store.release(lease)
    try await expectError("An entry under a lease that is over changes nothing", Self.isLost) {
      try await store.append([9], ifVersionIs: 9, under: lease)
    }
    try expect(try await store.entries(of: id) == [[8]], rule, "an entry under a lease that is over was kept")
  }

  func removes() async throws {
    let (id, rule) = ("conformance-removes", "A removed id holds nothing")
    try await store.remove(id)
    try await withLease(id) { lease in
      try await store.save(record(id), ifVersionIs: nil, under: lease)
      try await expectError("An id that is held cannot be removed", Self.isHeld) {
        try await store.remove(id)
      }
      try expect(try await store.load(id) == record(id), "An id that is held cannot be removed", "its record is gone")
    }
    try await store.remove(id)
    try expect(try await store.load(id) == nil, rule, "it is still loaded")
    try expect(try await !ids().contains(id), rule, "it is still listed")
    try await withLease(id) { lease in try await store.save(record(id), ifVersionIs: nil, under: lease) }
    try expect(try await store.load(id) == record(id), "A removed id can be used again", "nothing was kept")
  }

  func servesManyAtOnce() async throws {
    let rule = "Ids are independent of each other"
    try await withThrowingTaskGroup { group in
      for index in 0..<32 {
        group.addTask {
          let id = "conformance-many-\(index)"
          try await withLease(id) { lease in
            for version: UInt64 in 1...5 {
              let record = record(id, version, stage: Array("\(id) \(version)".utf8))
              try await store.save(record, ifVersionIs: version == 1 ? nil : version - 1, under: lease)
              try expect(try await store.load(id) == record, rule, "\(id) holds something else")
            }
          }
        }
      }
      try await group.waitForAll()
    }
  }

  func isSeenByAnother(_ other: any CheckpointStore) async throws {
    let (id, rule) = ("conformance-another", "Stores over the same table or directory see the same")
    try await withLease(id) { lease in
      try await store.save(record(id), ifVersionIs: nil, under: lease)
      try expect(try await other.load(id) == record(id), rule, "the other one loads something else")
      try await expectError(rule, Self.isHeld) { _ = try await other.acquire(id) }
      try await expectError(rule, Self.isHeld) { try await other.remove(id) }
    }
    let lease = try await other.acquire(id)
    try await expectError(rule, Self.isHeld) { _ = try await store.acquire(id) }
    try await other.save(record(id, 2), ifVersionIs: 1, under: lease)
    other.releaseWithoutWaiting(lease)
    try expect(try await store.load(id) == record(id, 2), rule, "this one loads something else")
    try await store.remove(id)
    try expect(try await other.load(id) == nil, rule, "the other one loads what was removed")
  }
}

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
      try await expectNoError(rule, "\(id.debugDescription), never used before,") {
        try await withLease(id) { lease in
          try await store.save(record(id, stage: Array("it is \(id)".utf8)), ifVersionIs: nil, under: lease)
        }
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
