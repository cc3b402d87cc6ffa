// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import StepwiseCheckpoints

extension Tool {
  static let checkpointCommands = [
    ToolCommand(line: "checkpoints list <folder>", summary: "lists the checkpoints in a folder") {
      try await CheckpointCommand($0.words[0]).list($1)
    },
    ToolCommand(
      line: "checkpoints show <folder> <id>",
      summary: "shows one: its state, steps and errors",
      options: [values]
    ) { try await CheckpointCommand($0.words[0]).show($0.words[1], hasValues: $0.has("values"), $1) },
    ToolCommand(
      line: "checkpoints cancel <folder> <id>",
      summary: "cancels a durable run for good",
      options: [("--reason <text>", "the reason, for handlers")]
    ) { try await CheckpointCommand($0.words[0]).cancel($0.words[1], reason: $0.options["reason"], $1) },
    ToolCommand(
      line: "checkpoints discard <folder> <id>",
      summary: "ends one without its undos",
      options: [("--dry-run", "only show what would not be undone")]
    ) { try await CheckpointCommand($0.words[0]).discard($0.words[1], isDryRun: $0.has("dry-run"), $1) },
    ToolCommand(
      line: "checkpoints remove <folder> <id>",
      summary: "removes one that no run holds",
      options: [("--force", "remove it although a run holds it, which ends that run")]
    ) { try await CheckpointCommand($0.words[0]).remove($0.words[1], isForced: $0.has("force"), $1) },
  ]

  static var values: ToolCommand.Option { ("--values", "show stored values, too") }
}

/// Reads the folder of a checkpoint store.
struct CheckpointCommand {
  private static let hint = "name the folder that a FileCheckpointStore uses"

  private let folder: String
  private let store: FileCheckpointStore

  /// Opens the store of a folder that exists: creating the store would create the folder.
  init(_ folder: String) throws {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isDirectory) else {
      throw CommandError("there is no folder '\(folder)'; \(Self.hint)", code: .notFound)
    }
    guard isDirectory.boolValue else { throw CommandError("'\(folder)' is a file; \(Self.hint)") }
    self.folder = folder
    store = try FileCheckpointStore(directory: URL(fileURLWithPath: folder))
  }

  func list(_ output: Output) async throws {
    var checkpoints: [Checkpoint] = []
    for summary in try await store.summaries() { checkpoints.append(await checkpoint(summary)) }
    let table = Table(
      checkpoints.map { [("id", .string($0.name))] + $0.record },
      ["id", "type", "state", "codec", "saved", "size", "holder", "detail"],
      else: "There are no checkpoints in '\(folder)'; \(Self.hint)."
    )
    output.show(table.lines, .list(checkpoints.map(\.record)))
  }

  func show(_ id: String, hasValues: Bool, _ output: Output) async throws {
    let checkpoint = await checkpoint(try await summary(id))
    if let error = checkpoint.error { throw error }
    let steps = checkpoint.steps.map { $0.record(hasValue: hasValues) }
    output.show(checkpoint.record, steps: steps, [])
  }

  func cancel(_ id: String, reason: String?, _ output: Output) async throws {
    let run = try await durableRun(id)
    let isFirst = try await unlessHeld(id, "cancelled; cancel it there with its handle or cancel(id:in:)") {
      try await store.append(.cancelled(reason: reason), to: id)
    }
    guard isFirst else { throw CommandError("'\(id)' has an outcome or is cancelled already: \(run.state)") }
    let note = "resume it in its program, with resume(id:in:) or resumeAll(in:), which undoes it"
    output.show([("cancelled", .string(id)), ("to undo", list(run.undoable)), ("note", .string(note))])
  }

  func discard(_ id: String, isDryRun: Bool, _ output: Output) async throws {
    let run = try await durableRun(id)
    let isFirst =
      isDryRun ? !run.isEnded : try await unlessHeld(id, "discarded") { try await store.append(.abandoned, to: id) }
    guard isFirst else { throw CommandError("'\(id)' has ended, and has nothing to undo: \(run.state)") }
    output.show([(isDryRun ? "would discard" : "discarded", .string(id)), ("not undone", list(run.undoable))])
  }

  private func list(_ names: [String]) -> JSON { .string(names.isEmpty ? "nothing" : names.joined(separator: ", ")) }

  /// - Throws: `CommandError` for a progression, which has nothing to undo.
  private func durableRun(_ id: String) async throws -> StoredSteps {
    let checkpoint = await checkpoint(try await summary(id))
    if let error = checkpoint.error { throw error }
    if let codec = checkpoint.summary.content?.codec {
      throw CommandError(
        "'\(id)' is encoded by \"\(codec)\", which stepctl does not have; change it in its program, with cancel(id:in:), "
          + "or remove it with 'stepctl checkpoints remove'"
      )
    }
    guard let run = checkpoint.run else {
      throw CommandError("'\(id)' is a progression and not a durable chain; 'stepctl checkpoints remove' ends it")
    }
    return run
  }

  /// - Throws: `CommandError` when a run holds the id.
  private func unlessHeld<Value>(_ id: String, _ wayOut: String, _ body: () async throws -> Value) async throws -> Value
  {
    do {
      return try await body()
    } catch CheckpointError.held(_, _, let process) {
      let holder = process.map { "process \($0)" } ?? "another process"
      throw CommandError("\(holder) is running '\(id)', which was not \(wayOut)")
    }
  }

  func remove(_ id: String, isForced: Bool, _ output: Output) async throws {
    let summary = try await summary(id)
    try await unlessHeld(id, "removed; wait until it ends, or add --force, which ends its run") {
      if isForced { try await store.removeEvenIfHeld(id) } else { try await store.remove(id) }
    }
    let held = isForced ? summary.holder.map { "\($0.text) held it; its run fails at the next stage" } : nil
    output.show([("removed", .string(id)), ("note", .string(held))])
  }

  private func summary(_ id: String) async throws -> CheckpointSummary {
    let summaries = try await store.summaries()
    guard let summary = summaries.first(where: { $0.id.map { $0.utf8.elementsEqual(id.utf8) } ?? false }) else {
      let nameless = summaries.filter { $0.id == nil }.map(\.location).sorted().first
      let hint = nameless.map { "; '\($0)' is damaged and names no id: remove the file itself" } ?? ""
      throw CommandError(
        "there is no checkpoint '\(id)' in '\(folder)'; 'stepctl checkpoints list \(folder)' lists them\(hint)",
        code: .notFound
      )
    }
    return summary
  }

  private func checkpoint(_ summary: CheckpointSummary) async -> Checkpoint {
    var checkpoint = Checkpoint(summary: summary, error: summary.error)
    guard let id = summary.id, summary.error == nil else { return checkpoint }
    do {
      checkpoint.content = try await store.load(id)
      guard let content = checkpoint.content, content.codec == nil else { return checkpoint }
      checkpoint.run = try content.durableRun(at: summary.location).map { StoredSteps($0.events) }
    } catch {
      checkpoint.error = error
    }
    return checkpoint
  }
}

/// A checkpoint with what it contains.
private struct Checkpoint {
  let summary: CheckpointSummary
  var content: CheckpointRecord?
  /// The steps of a durable chain; nil for a progression.
  var run: StoredSteps?
  var error: (any Error)?

  /// The steps of a durable chain; of a progression, the first and the last stage; what is encoded, by its payloads.
  var steps: [StoredSteps.Step] {
    if let run { return run.steps }
    if let content, content.codec != nil {
      return content.payloads.map { StoredSteps.Step(name: $0.name, state: "stored", value: $0.bytes) }
    }
    let stages = content.map { [("first", "done", $0.first), ("last", state, $0.stage)] } ?? []
    return stages.map { StoredSteps.Step(name: $0, state: $1, value: $2) }
  }

  var name: String { summary.id ?? URL(fileURLWithPath: summary.location).lastPathComponent }

  private var state: String {
    guard error == nil, let content = summary.content else { return "damaged" }
    if content.codec != nil { return "encoded" }
    guard let run else { return content.stage ?? "stage \(content.version)" }
    return run.outcome == "unfinished" && summary.holder != nil
      ? "running" : run.state
  }

  var record: Record {
    [
      ("id", .string(summary.id)), ("file", .string(summary.location)), ("type", .string(summary.content?.progression)),
      ("state", .string(state)),
      ("detail", .string(error.map { ($0 as? CheckpointError)?.cause ?? String(describing: $0) } ?? run?.details)),
      ("codec", .string(summary.content?.codec)), ("version", .number(summary.content.map { Int($0.version) })),
      ("schemaVersion", .number(summary.content?.schemaVersion)),
      ("saved", .time(summary.lastSave.timeIntervalSince1970)), ("size", .bytes(summary.byteCount)),
      ("holder", .string(summary.holder?.text)), ("waitsUntil", .time(run?.waitsUntil)),
    ]
  }
}

extension CheckpointSummary.Holder {
  fileprivate var text: String { processID.map { "process \($0)" } ?? "unknown process" }
}

/// The steps of a durable run and its state, from what it has stored; times are seconds since 1970.
struct StoredSteps {
  struct Step {
    var name: String
    /// The word for its state: `running`, `done`, `failed`, `undoing`, `undone` or `damaged`; of a stage, also that of its
    /// job.
    var state: String
    /// Whether it says how to undo it.
    var isUndoable = false
    var error: String?
    var value: [UInt8]?
    /// When it began, or the event before it was stored; nil where that is unknown.
    var start: Double?
    /// When the end was stored, where that is known.
    var end: Double?
    var number: Int?

    /// Of an encoded value, the size and the codec are no secret.
    func record(hasValue: Bool) -> Record {
      let isShown = hasValue || value.flatMap { EncodedPayload.codec(of: $0) } != nil
      let value: Record = isShown ? [("value", value.map(JSON.value) ?? .string(nil))] : []
      return [
        ("name", .string(name)), ("state", .string(state)), ("error", .string(error)), ("start", .time(start)),
        ("end", .time(end)),
      ] + value
    }
  }

  private(set) var steps: [Step] = []
  /// The word for the state of the run, unless it undoes steps or a time to wait for is stored: `unfinished`, `cancelling`, `done`,
  /// `failed`, `cancelled` or `abandoned`.
  private(set) var outcome = "unfinished"
  /// The error, or the reason of a cancellation.
  private(set) var detail: String?
  /// The detail, and what could not be undone.
  var details: String? {
    let undos = steps.filter { $0.isUndoable && $0.state != "undone" }.compactMap { step in
      step.error.map { "the undo of \(step.name) failed: \($0)" }
    }
    let details = [detail].compactMap { $0 } + undos
    return details.isEmpty ? nil : details.joined(separator: "; ")
  }
  private var deadlines: [String: Double] = [:]
  private var last: Double?

  init(_ events: [DurableEvent] = []) {
    for event in events { apply(event) }
  }

  /// The last time that the run waits for; nil when it waits for none.
  var waitsUntil: Double? { outcome == "unfinished" ? deadlines.values.max() : nil }

  /// The state at a time.
  func state(at now: Double) -> String {
    if outcome != "unfinished", outcome != "abandoned", steps.contains(where: { $0.state == "undoing" }) {
      return "undoing"
    }
    return waitsUntil.map { $0 > now } == true ? "waiting" : outcome
  }

  var state: String { state(at: Date().timeIntervalSince1970) }
  /// The steps that are to be undone if the run does not succeed.
  var undoable: [String] {
    steps.filter { $0.isUndoable && ["done", "running", "undoing"].contains($0.state) }.map(\.name)
  }
  /// Whether the run has an outcome, and nothing is left to undo.
  var isEnded: Bool {
    switch outcome {
    case "done", "abandoned": true
    case "failed", "cancelled": undoable.isEmpty
    default: false
    }
  }

  /// Applies an entry of a fleet's chain; a damaged one is a step, so that the rest is shown, and so is an encoded one.
  mutating func apply(entry: [UInt8], number: Int, at time: Double?) {
    if EncodedPayload.codec(of: entry) != nil {
      end(Step(name: "entry \(number)", state: "stored", value: entry, end: time))
      last = time
      return
    }
    do {
      for event in try DurableEvent.events(in: entry) { apply(event, at: time) }
    } catch {
      end(Step(name: "a damaged entry", state: "damaged", error: error.reason, value: entry, end: time))
    }
  }

  mutating func apply(_ event: DurableEvent, at time: Double? = nil) {
    defer { last = time }
    switch event {
    case .began(let path, _): steps.append(Step(name: path, state: "running", isUndoable: true, start: time))
    case .completed(let path, _, let number, let value, let isUndoable):
      end(Step(name: path, state: "done", isUndoable: isUndoable, value: value, end: time, number: number))
    case .failed(let path, _, let number, let failure):
      end(Step(name: path, state: "failed", error: failure.text, end: time, number: number))
    case .undoing(let numbers):
      for index in steps.indices where steps[index].state == "done" && numbers.contains(steps[index].number ?? 0) {
        steps[index].state = "undoing"
      }
    case .undone(let number):
      for index in steps.indices where steps[index].number == number {
        (steps[index].state, steps[index].error) = ("undone", nil)
      }
    case .undoFailed(let number, let failure):
      for index in steps.indices where steps[index].number == number { steps[index].error = failure.text }
    case .undoable(let number):
      for index in steps.indices where steps[index].number == number { steps[index].isUndoable = true }
    case .settled(let path):
      for index in steps.indices where steps[index].name == path { steps[index].state = "undone" }
    case .waited(let path, _): deadlines[path] = nil
    case .deadline(let path, let milliseconds): deadlines[path] = Double(milliseconds) / 1_000
    case .cancelled(let reason): (outcome, detail) = ("cancelling", reason)
    case .concluded(.resolved): outcome = "done"
    case .concluded(.failed(let failure)): (outcome, detail) = ("failed", failure.text)
    case .concluded(.cancelled(let reason, let underlying)):
      (outcome, detail) = ("cancelled", reason ?? underlying?.text)
    case .abandoned: outcome = "abandoned"
    default: break
    }
  }

  private mutating func end(_ step: Step) {
    deadlines[step.name] = nil
    var step = step
    let index = steps.lastIndex { $0.name == step.name && $0.state == "running" }
    step.start = index.map { steps[$0].start } ?? last
    if let index { steps[index] = step } else { steps.append(step) }
  }
}

extension JSON {
  /// A stored text, of which only the size and the codec are shown when it is encoded.
  static func value(_ text: String) -> JSON {
    let bytes = EncodedPayload.bytes(of: text)
    return EncodedPayload.codec(of: bytes) == nil ? .string(text) : value(bytes)
  }

  /// A stored value as it is stored; in base64 when it is not JSON, and only its size and the codec when it is encoded.
  static func value(_ bytes: [UInt8]) -> JSON {
    if let codec = EncodedPayload.codec(of: bytes) { return .string("\(bytes.count) bytes, encoded by \"\(codec)\"") }
    let data = Data(bytes)
    let isJSON = (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil
    return isJSON ? .stored(String(decoding: bytes, as: UTF8.self)) : .string(data.base64EncodedString())
  }
}
