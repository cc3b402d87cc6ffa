// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import Testing

/// Summaries of the files of a directory, and what is removed in spite of a lease.
@Suite(.timeLimit(.minutes(10))) struct SummaryTests {
  private let directory: TemporaryDirectory
  private let store: FileCheckpointStore

  init() throws {
    directory = try TemporaryDirectory(inMemory: true)
    store = try FileCheckpointStore(directory: directory.url)
  }

  /// The bytes and the time of each file, and the time of each directory.
  private func snapshot() throws -> [String: String] {
    var entries: [String: String] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: directory.url.path) + ["."] {
      let path = directory.url.path + "/" + name
      let attributes = try FileManager.default.attributesOfItem(atPath: path)
      let date = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
      entries[name] = "\(date) \(FileManager.default.contents(atPath: path)?.base64EncodedString() ?? "-")"
    }
    return entries
  }

  @Test
  func `A summary says what a file contains, in the order of the ids`() async throws {
    for id in ["b", "a", "é"] { _ = try await Count.at(0).run(id: id, in: store) }
    for try await stage in Count.at(0).stages(id: "c", in: store) where stage == .at(2) { break }
    let summaries = try await store.summaries()
    #expect(summaries.map(\.id) == ["a", "b", "c", "é"])
    #expect(summaries.map(\.content?.stage) == ["done", "done", "at", "done"])
    #expect(summaries.map(\.content?.version) == [5, 5, 3, 5])
    for summary in summaries {
      #expect(summary.content?.progression == "StepwiseCheckpointsTests.Count")
      #expect(summary.content?.schemaVersion == 0)
      #expect(summary.error == nil)
      #expect(summary.holder == nil)
      let attributes = try FileManager.default.attributesOfItem(atPath: summary.location)
      #expect(summary.byteCount == attributes[.size] as? Int)
      let change = try #require(attributes[.modificationDate] as? Date)
      #expect(abs(summary.lastSave.timeIntervalSince(change)) < 0.001)
      #expect(summary.location == store.location(of: summary.id ?? ""))
    }
  }

  // G247
  @Test
  func `A summary has the error of a run and of its undos, until they succeed`() async throws {
    let isOpen = CancellationToken()
    let order = Chain("order") { (card: String) in
      try await step("reserve") {
        1
      } undo: { _ in
      }
      try await step("charge") {
        2
      } undo: { _ in
        if !isOpen.isCancelled { throw Declined(card: "bank is closed") }
      }
      throw Declined(card: card)
    }
    func content() async throws -> CheckpointSummary.Content? { try await store.summaries().first?.content }
    for _ in 1...2 {
      await #expect(throws: Declined(card: "visa")) { try await order.run("visa", id: "o", in: store) }
      let stored = try await content()
      #expect(stored?.failure == "\(Declined(card: "visa"))")
      #expect(stored?.undoFailures.map(\.step) == ["order/charge"])
      #expect(stored?.undoFailures.map(\.error) == ["\(Declined(card: "bank is closed"))"])
    }
    isOpen.cancel()
    await #expect(throws: Declined(card: "visa")) { try await order.resume(id: "o", in: store) }
    #expect(try await content()?.undoFailures.isEmpty == true)
    #expect(try await content()?.failure == "\(Declined(card: "visa"))")
  }

  @Test
  func `A summary names the process that holds the id, and changes nothing`() async throws {
    let locks = directory.url.appending(path: ".locks")
    for try await stage in Count.at(0).stages(id: "a", in: store) {
      // The file of a process that was killed, and that of one whose number could not be written.
      try Data("00000000002147483646".utf8).write(to: locks.appending(path: "killed.lock"))
      try Data().write(to: locks.appending(path: "unknown.lock"))
      for id in ["killed", "unknown"] {
        try FileManager.default.copyItem(atPath: store.location(of: "a"), toPath: store.location(of: id))
      }
      let before = try snapshot()
      let holders = try await store.summaries().map { ($0.id, $0.holder) }
      #expect(try snapshot() == before)
      #expect(stage == .at(0))
      // The copies contain another id than their names.
      #expect(holders.map(\.0) == ["a", "killed", "unknown"])
      #expect(holders[0].1?.processID == ProcessInfo.processInfo.processIdentifier)
      #expect(holders[1].1 == nil)
      #expect(holders[2].1 != nil && holders[2].1?.processID == nil)
      break
    }
    #expect(try await store.summaries().first?.holder == nil)
  }

  @Test
  func `What cannot be read is listed with the reason, and is kept`() async throws {
    let long = String(repeating: "É", count: 90)
    for id in ["cut", "whole", "text", "later", "folder", "link", long] {
      _ = try await Count.at(0).run(id: id, in: store)
    }
    func file(_ id: String) -> URL { URL(fileURLWithPath: store.location(of: id)) }
    try Data(contentsOf: file("cut")).dropLast().write(to: file("cut"))
    try Data("nothing of the kind".utf8).write(to: file("text"))
    try Data("nor this".utf8).write(to: file(long))
    try FileManager.default.removeItem(at: file("folder"))
    try FileManager.default.createDirectory(at: file("folder"), withIntermediateDirectories: false)
    try FileManager.default.removeItem(at: file("link"))
    try FileManager.default.createSymbolicLink(at: file("link"), withDestinationURL: file("whole"))
    try FileManager.default.copyItem(at: file("whole"), to: directory.url.appending(path: "renamed.checkpoint"))
    try Data("other".utf8).write(to: directory.url.appending(path: "notes.txt"))
    let before = try snapshot()

    var causes: [String: String] = [:]
    for summary in try await store.summaries() {
      causes[summary.id ?? "none"] = summary.error?.cause ?? "intact"
      #expect((summary.content == nil) == (summary.error != nil))
    }
    #expect(causes.count == 8)
    #expect(causes["whole"] == "intact")
    #expect(causes["later"] == "intact")
    #expect(causes["cut"]?.hasPrefix("it is damaged: it has ") == true)
    #expect(causes["text"]?.hasPrefix("it is damaged: it does not start with STEPWISE") == true)
    #expect(causes["none"]?.hasPrefix("it is damaged: it does not start with STEPWISE") == true)
    #expect(causes["folder"]?.hasPrefix("it is damaged: it is a directory") == true)
    #expect(causes["link"]?.hasPrefix("it is damaged: it is a symbolic link") == true)
    #expect(causes["renamed"]?.hasPrefix("it is damaged: it was stored under the id \"whole\"") == true)
    #expect(try snapshot() == before)
  }

  @Test
  func `Removing a held id ends its lease and the run's saves`() async throws {
    var stages: [Count] = []
    await #expect {
      for try await stage in Count.at(0).stages(id: "a", in: store) {
        stages.append(stage)
        if stage == .at(1) { try await store.removeEvenIfHeld("a") }
      }
    } throws: { error in
      if case CheckpointError.lostLease("a", _) = error { true } else { false }
    }
    #expect(stages == [.at(0), .at(1)])
    #expect(try await store.load("a") == nil)
    #expect(try await Count.at(0).run(id: "a", in: store) == "three")
  }

  @Test
  func `A lease ended by a removal leaves the next holder's lease alone`() async throws {
    let first = try await store.acquire("a")
    try await store.removeEvenIfHeld("a")
    let other = try FileCheckpointStore(directory: directory.url)
    let second = try await other.acquire("a")
    try await store.release(first)
    await #expect(throws: CheckpointError.self) { try await store.acquire("a") }
    try await other.release(second)
    try await store.release(store.acquire("a"))
  }
}
