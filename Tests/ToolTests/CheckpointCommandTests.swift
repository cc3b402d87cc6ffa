// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting
import Testing

@testable import stepctl

/// The commands that look into the folder of a checkpoint store.
@Suite(.timeLimit(.minutes(5))) struct CheckpointCommandTests {
  enum Word: Progression, Codable {
    case spell(letters: [String], seed: UInt64), spelled(String)

    func next() async throws -> Word {
      guard case .spell(let letters, _) = self else { return try completed() }
      return .spelled(letters.joined())
    }

    var result: String? { if case .spelled(let word) = self { word } else { nil } }
  }

  private struct OutOfStock: Error, CustomStringConvertible { let description = "out of\nstock" }

  private let directory: TemporaryDirectory
  private let folder: String

  init() throws {
    directory = try TemporaryDirectory()
    folder = directory.url.appending(path: "store").path
  }

  private func store() throws -> FileCheckpointStore {
    try FileCheckpointStore(directory: URL(fileURLWithPath: folder))
  }

  private func list(_ options: String...) async -> ToolResult { await tool(["checkpoints", "list", folder] + options) }
  private func show(_ id: String, _ options: String...) async -> ToolResult {
    await tool(["checkpoints", "show", folder, id] + options)
  }
  private func remove(_ id: String, _ options: String...) async -> ToolResult {
    await tool(["checkpoints", "remove", folder, id] + options)
  }

  /// Fills a store with runs that are done, failed, cancelled and waiting, a progression, and two damaged files.
  private func fill(_ store: FileCheckpointStore) async throws {
    let order = Chain("order") { (item: String) in
      try await step("reserve") {
        "the \(item)"
      } undo: { _ in
      }
      if item == "pen" { try await step("pay") { throw OutOfStock() } }
      if item == "lamp" { try await step("wait", sleep: .seconds(3_600)) }
      return item
    }
    try await order.run("book", id: "done", in: store)
    await #expect(throws: (any Error).self) { try await order.run("pen", id: "failed", in: store) }
    for id in ["cancelled", "waiting"] {
      let stop = CancellationToken()
      let run = order.start("lamp", id: id, in: store, cancelledBy: stop)
      while try await store.load(id)?.durableRun(at: "")?.events.contains(where: Self.isDeadline) != true {
        await Task.yield()
      }
      if id == "cancelled" { run.cancel(reason: "the customer left") } else { stop.cancel(reason: "deploy") }
      _ = await run.outcome
    }
    for try await _ in Word.spell(letters: ["secret"], seed: .max).stages(id: "word", in: store) { break }
    _ = try await order.run("book", id: "bad", in: store)
    try Data("no such thing".utf8).write(to: URL(fileURLWithPath: store.location(of: "bad")))
  }

  private static func isDeadline(_ event: DurableEvent) -> Bool { if case .deadline = event { true } else { false } }

  @Test
  func `The list has each state, and the error or the reason`() async throws {
    try await fill(try store())
    let result = await list()
    #expect(result.code == .success && result.error == "")
    #expect(
      result.lines.map { $0.prefix { $0 != " " } } == ["id", "bad", "cancelled", "done", "failed", "waiting", "word"]
    )
    let output = result.output
    #expect(output.contains("  it is damaged: it does not start with STEPWISE"), "\(output)")
    #expect(output.contains("  the customer left\n"), "\(output)")
    #expect(output.contains("OutOfStock: out of stock\n"), "\(output)")
    for state in ["damaged", "cancelled", "done", "failed", "waiting", "spell"] {
      #expect(output.contains("  \(state)  "), "\(output)")
    }
    let json = try #require(await list("--json").list)
    #expect(
      json.compactMap { $0["state"] as? String } == ["damaged", "cancelled", "done", "failed", "waiting", "spell"]
    )
    #expect((json[3]["detail"] as? String)?.hasSuffix("OutOfStock: out of\nstock") == true)
    #expect(json[4]["waitsUntil"] is String && json[2]["waitsUntil"] is NSNull)
  }

  @Test
  func `A checkpoint is shown with its values only on request`() async throws {
    try await fill(try store())
    for (id, value) in [("word", "secret"), ("waiting", "the lamp")] {
      for format in [[], ["--json"]] {
        let without = await tool(["checkpoints", "show", folder, id] + format)
        #expect(without.code == .success && !without.output.contains(value), "\(without)")
        let with = await tool(["checkpoints", "show", folder, id, "--values"] + format)
        #expect(with.code == .success && with.output.contains(value), "\(with)")
      }
    }
    let waiting = try #require(await show("waiting", "--json").object?["steps"] as? [[String: Any]])
    #expect(waiting.map { $0["name"] as? String } == ["order/reserve"])
    #expect(waiting.map { $0["state"] as? String } == ["done"])
    #expect(await show("failed").output.contains("OutOfStock: out of stock\n"))
    let word = try #require(await show("word", "--json").object?["steps"] as? [[String: Any]])
    #expect(word.map { $0["name"] as? String } == ["first", "last"])
    let bad = await show("bad")
    #expect(bad.code == .failure && bad.output == "" && bad.error.contains("it is damaged"), "\(bad)")
    let missing = await show("other")
    #expect(missing.code == .notFound && missing.error.contains("'stepctl checkpoints list \(folder)' lists them"))
  }

  @Test
  func `The steps of a stored run have the states that its events lead to`() {
    let failure = StoredFailure(kind: .other, type: "Failure", description: "no stock")
    let deadline = 100.0
    var run = StoredSteps([
      .completed("a", by: .init(task: 0, calls: 1), number: 1, value: [], isUndoable: true),
      .began("b", by: .init(task: 0, calls: 2)),
      .failed("b", by: .init(task: 0, calls: 2), number: 2, failure), .began("c", by: .init(task: 0, calls: 3)),
      .deadline("d", 100_000),
    ])
    #expect(run.steps.map(\.name) == ["a", "b", "c"])
    #expect(run.steps.map(\.state) == ["done", "failed", "running"])
    #expect(run.steps.map(\.error) == [nil, "no stock", nil])
    #expect(run.state(at: deadline - 1) == "waiting" && run.state(at: deadline) == "unfinished")
    run.apply(.cancelled(reason: "late"))
    #expect(run.state(at: deadline - 1) == "cancelling" && run.detail == "late")
    run.apply(.settled("c"))
    run.apply(.undone(1))
    #expect(run.steps.map(\.state) == ["undone", "failed", "undone"])
    run.apply(.concluded(.failed(failure)))
    #expect(run.outcome == "failed" && run.detail == "no stock")
  }

  @Test
  func `A run can be cancelled for good, and what was not undone can be given up`() async throws {
    struct BankIsClosed: Error {}
    let store = try store()
    let released = Recorder<String>()
    let order = Chain("order") { (item: String) in
      try await step("reserve") {
        item
      } undo: {
        released.record($0)
      }
      try await step("charge") {
        7
      } undo: { (_: Int) in
        if item != "lamp" { throw BankIsClosed() }
      }
      if item == "pen" { throw OutOfStock() }
      try await step("wait", sleep: .seconds(3_600))
      return item
    }
    let stop = CancellationToken()
    let run = order.start("lamp", id: "lamp", in: store, cancelledBy: stop)
    while try await store.load("lamp")?.durableRun(at: "")?.events.contains(where: Self.isDeadline) != true {
      await Task.yield()
    }
    #expect(await tool(["checkpoints", "cancel", folder, "lamp"]).error.contains("is running 'lamp'"))
    stop.cancel()
    _ = await run.outcome
    let cancelled = await tool(["checkpoints", "cancel", folder, "lamp", "--reason", "gone"])
    #expect(cancelled.output.contains("order/reserve, order/charge"), "\(cancelled)")
    #expect(await tool(["checkpoints", "cancel", folder, "lamp"]).error.contains("is cancelled already: cancelling"))
    #expect(released.elements.isEmpty)
    await #expect(throws: CancellationError.self) { try await order.resume(id: "lamp", in: store) }
    #expect(released.elements == ["lamp"])

    // One of its undos fails, so that it is not like any failed run.
    await #expect(throws: (any Error).self) { try await order.run("pen", id: "pen", in: store) }
    #expect(await list("--json").list?.map { $0["state"] as? String } == ["cancelled", "undoing"])
    let steps = try #require(await show("pen", "--json").object?["steps"] as? [[String: Any]])
    #expect(steps.prefix(2).map { $0["state"] as? String } == ["undone", "undoing"])
    #expect(steps.prefix(2).map { $0["error"] as? String } == [nil, "BankIsClosed()"])
    #expect(await list().output.contains("the undo of order/charge failed: BankIsClosed()"))
    let discard = ["checkpoints", "discard", folder, "pen"]
    #expect(await tool(discard + ["--dry-run"]).output.contains("order/charge"))
    #expect(try await order.unfinished(in: store) == ["pen"])
    #expect(await tool(discard).output.contains("order/charge"))
    #expect(try await order.unfinished(in: store).isEmpty)
    #expect(await tool(discard).error.contains("has nothing to undo: abandoned"))
    for try await _ in Word.spell(letters: ["a"], seed: 1).stages(id: "word", in: store) { break }
    #expect(await tool(["checkpoints", "discard", folder, "word"]).error.contains("is a progression"))
  }

  @Test
  func `A chain with a damaged entry is listed, and can be removed`() async throws {
    let store = try store()
    try await fill(store)
    let lease = try await store.acquire("done")
    try await store.append([0xFF], ifVersionIs: try #require(await store.load("done")?.version), under: lease)
    try await store.release(lease)
    let listed = try #require(await list("--json").list?.first { $0["id"] as? String == "done" })
    #expect(listed["state"] as? String == "damaged")
    #expect((listed["detail"] as? String)?.hasPrefix("it is damaged: ") == true, "\(listed)")
    for options in [[], ["--json"], ["--values"]] {
      let shown = await tool(["checkpoints", "show", folder, "done"] + options)
      #expect(shown.code == .failure && shown.output == "" && shown.error.contains("it is damaged"), "\(shown)")
    }
    #expect(await remove("done").code == .success)
  }

  // G254
  @Test
  func `What is encoded is shown by its codec and its sizes`() async throws {
    let files = try store()
    let mask = PayloadCodec(name: "mask-1") { bytes in
      bytes.map { ~$0 }
    } decode: { bytes in
      bytes.map { ~$0 }
    }
    let store = EncodedCheckpointStore(files, codec: mask)
    let stop = CancellationToken()
    let order = Chain("order") { (item: String) in
      try await step("reserve") { "the secret \(item)" }
      if item == "lamp" { try await step("stop") { stop.cancel() } }
      try await step("ship") {}
      return item
    }
    try await order.run("book", id: "done", in: store)
    let run = order.start("lamp", id: "left", in: store, cancelledBy: stop)
    _ = await run.outcome
    for try await _ in Word.spell(letters: ["secret"], seed: 1).stages(id: "word", in: store) { break }

    let listed = try #require(await list("--json").list)
    #expect(listed.map { $0["state"] as? String } == ["encoded", "encoded", "encoded"])
    #expect(listed.map { $0["codec"] as? String } == ["mask-1", "mask-1", "mask-1"])
    #expect(await list().output.contains("  mask-1  "))
    for id in ["done", "left", "word"] {
      for options in [[], ["--values"], ["--values", "--json"]] {
        let shown = await tool(["checkpoints", "show", folder, id] + options)
        #expect(shown.code == .success && !shown.output.contains("secret"), "\(shown)")
      }
      let size = try #require(await files.load(id)?.first.count)
      #expect(await show(id, "--values").output.contains("\(size) bytes, encoded by \"mask-1\""))
    }
    let steps = try #require(await show("left", "--json").object?["steps"] as? [[String: Any]])
    #expect(steps.map { $0["name"] as? String }.prefix(2) == ["first", "entry 1"])
    for verb in ["cancel", "discard"] {
      let refused = await tool(["checkpoints", verb, folder, "left"])
      #expect(refused.code == .failure && refused.error.contains("is encoded by \"mask-1\""), "\(refused)")
    }
    #expect(try await order.cancel(id: "left", in: store))
    #expect(await remove("left").code == .success)
  }

  @Test
  func `A checkpoint is removed, also a damaged one`() async throws {
    try await fill(try store())
    #expect(await remove("bad").lines == ["removed  bad"])
    #expect(await remove("done", "--json").object?["removed"] as? String == "done")
    #expect(await remove("done").code == .notFound)
    #expect(await list("--json").list?.count == 4)
  }

  @Test
  func `A checkpoint that a run holds is removed only with --force`() async throws {
    let store = try store()
    await #expect(throws: CheckpointError.self) {
      for try await stage in Word.spell(letters: ["a"], seed: 1).stages(id: "word", in: store) {
        guard case .spell = stage else { break }
        let process = ProcessInfo.processInfo.processIdentifier
        #expect(await list().lines.last?.hasSuffix("process \(process)") == true)
        let refusal = await remove("word")
        #expect(refusal.code == .failure)
        #expect(refusal.error.hasPrefix("stepctl: process \(process) is running 'word', which was not removed; "))
        #expect(refusal.error.contains("--force"))
        #expect(try await store.load("word") != nil)
        let removed = await remove("word", "--force").lines
        #expect(removed == ["removed  word", "note     process \(process) held it; its run fails at the next stage"])
      }
    }
    #expect(try await store.load("word") == nil)
  }

  @Test
  func `An error is one line with a way out, and creates nothing`() async throws {
    let missing = await list()
    #expect(missing.code == .notFound && missing.error.hasPrefix("stepctl: there is no folder '\(folder)'; name the"))
    #expect(!FileManager.default.fileExists(atPath: folder))
    try Data().write(to: URL(fileURLWithPath: folder))
    #expect(await list().error.hasPrefix("stepctl: '\(folder)' is a file; name the folder"))
    let empty = await tool(["checkpoints", "list", directory.url.path])
    #expect(empty.code == .success && empty.output.hasPrefix("There are no checkpoints in"))
    #expect(await tool(["checkpoints", "list", directory.url.path, "--json"]).output == "[]\n")
  }

  @Test
  func `JSON keeps every digit and escapes what controls a terminal`() async throws {
    let word = Word.spell(letters: ["\u{1B}[31m", "\u{9B}", "\u{202E}", "é"], seed: .max)
    for try await _ in word.stages(id: "a", in: try store()) { break }
    let result = await show("a", "--values", "--json")
    #expect(result.output.contains("\"seed\":18446744073709551615"), "\(result)")
    #expect(!result.output.unicodeScalars.contains { $0.properties.generalCategory == .control && $0 != "\n" })
    let stage = try JSONSerialization.data(
      withJSONObject: try #require((result.object?["steps"] as? [[String: Any]])?.last?["value"])
    )
    guard case .spell(let letters, _) = try JSONDecoder().decode(Word.self, from: stage) else {
      Issue.record("another stage")
      return
    }
    #expect(letters == ["\u{1B}[31m", "\u{9B}", "\u{202E}", "é"])
  }

  @Test
  func `Overrides of the writing direction are escaped in every output`() async throws {
    let (id, escaped) = ("pay\u{202E}eno\u{2066}", "pay\\u{202E}eno\\u{2066}")
    for try await _ in Word.spell(letters: [], seed: 1).stages(id: id, in: try store()) { break }
    #expect(await list().lines.last?.hasPrefix("\(escaped)  ") == true)
    #expect(await show(id, "--json").output.contains(#"pay\u202eeno\u2066"#))
    #expect(await remove(id).lines == ["removed  \(escaped)"])
    #expect(await remove(id).error.contains(escaped))
  }

  @Test
  func `Ages and sizes are short`() {
    #expect([-5, 0, 59.9, 60, 7199, 86400 * 3].map(JSON.age) == ["0 s", "0 s", "59 s", "1 min", "1 h", "3 d"])
    #expect(
      [0, 1, 1024, 1025].map { JSON.bytes($0).brief } == ["0 KiB", "1 KiB", "1 KiB", "2 KiB"]
    )
  }
}
