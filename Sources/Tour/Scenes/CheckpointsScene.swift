// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints

extension Scene {
  /// Looks into the folder of a checkpoint store.
  static let checkpoints = Scene(
    "checkpoints",
    "list the checkpoints in a folder; show or remove one",
    parameters: ["<folder>", "[show|remove]", "[<id>]", "[--force]"],
    details: CheckpointCommand.help
  ) { arguments in
    let command = try CheckpointCommand(arguments)
    for line in try await command.run(now: Date()) { Console.writeLine(line) }
    return .success
  }
}

/// The command line after `checkpoints`.
struct CheckpointCommand {
  private enum Action {
    case list
    case show(String)
    case remove(String, isForced: Bool)
  }

  /// Its lines in `--help`.
  static let help = [
    "<folder>                       list id, stage, age, size and lease holder; changes nothing",
    "<folder> show <id>             print one as JSON",
    "<folder> remove <id>           remove one, unless a run holds it",
    "<folder> remove <id> --force   remove it although a run holds it, which ends that run",
  ]

  private static let hint = "name the folder that a FileCheckpointStore uses"

  private let folder: String
  private let action: Action

  /// Reads the arguments.
  init(_ arguments: [String]) throws(UsageError) {
    folder = arguments.first ?? ""
    let words = arguments.dropFirst().filter { $0 != "--force" }
    let isForced = words.count < arguments.count - 1
    switch (words.first, words.count, isForced) {
    case (nil, 0, false): action = .list
    case ("show", 2, false): action = .show(words[1])
    case ("remove", 2, _): action = .remove(words[1], isForced: isForced)
    default:
      let problem = "cannot understand '\(arguments.dropFirst().joined(separator: " "))' after the folder"
      throw UsageError(description: "\(problem); 'swift run Tour --help' says what may follow")
    }
  }

  /// Does what the arguments say.
  ///
  /// - Parameter now: The time from which ages are counted.
  /// - Returns: The lines of output.
  /// - Throws: An error that says what to do.
  func run(now: Date) async throws -> [String] {
    let store = try store()
    let summaries = try await store.summaries()
    guard !summaries.isEmpty else {
      throw CheckpointFailure("there are no checkpoints in '\(folder)'; \(Self.hint)")
    }
    switch action {
    case .list: return CheckpointTable.lines(summaries, now: now)
    case .show(let id): return try await show(summary(id, summaries), id, in: store)
    case .remove(let id, let isForced): return try await remove(summary(id, summaries), id, isForced, in: store)
    }
  }

  /// Opens the store of a folder that exists: creating the store would create the folder.
  private func store() throws -> FileCheckpointStore {
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isDirectory) else {
      throw CheckpointFailure("there is no folder '\(folder)'; \(Self.hint)")
    }
    guard isDirectory.boolValue else {
      throw CheckpointFailure("'\(folder)' is a file; \(Self.hint)")
    }
    return try FileCheckpointStore(directory: URL(fileURLWithPath: folder))
  }

  private func summary(_ id: String, _ summaries: [CheckpointSummary]) throws -> CheckpointSummary {
    guard let summary = summaries.first(where: { $0.id.map { $0.utf8.elementsEqual(id.utf8) } ?? false }) else {
      let nameless = summaries.filter { $0.id == nil }.map(\.location).sorted().first
      let hint = nameless.map { "; '\($0)' is damaged and names no id: remove the file itself" } ?? ""
      throw CheckpointFailure(
        "there is no checkpoint '\(id)' in '\(folder)'; 'swift run Tour checkpoints \(folder)' lists them\(hint)"
      )
    }
    return summary
  }

  private func show(
    _ summary: CheckpointSummary,
    _ id: String,
    in store: FileCheckpointStore
  ) async throws -> [String] {
    if let error = summary.error { throw error }
    guard let record = try await store.load(id) else {
      throw CheckpointFailure("checkpoint '\(id)' was removed meanwhile")
    }
    return try CheckpointJSON.lines(of: record, summary)
  }

  private func remove(
    _ summary: CheckpointSummary,
    _ id: String,
    _ isForced: Bool,
    in store: FileCheckpointStore
  ) async throws -> [String] {
    do {
      if isForced { try await store.removeEvenIfHeld(id) } else { try await store.remove(id) }
    } catch CheckpointError.held(_, _, let process) {
      let holder = process.map { "process \($0)" } ?? "another process"
      throw CheckpointFailure(
        "\(holder) is running '\(id)', which was not removed; wait until it ends, or add --force, which ends its run"
      )
    }
    guard let holder = summary.holder, isForced else { return ["removed  \(Console.oneLine(id))"] }
    let process = CheckpointTable.text(of: holder)
    return ["removed  \(Console.oneLine(id)), which \(process) held; its run fails at the next stage"]
  }
}

/// An error that says what to do instead.
struct CheckpointFailure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) {
    self.description = description
  }
}

/// A list of checkpoints for a terminal.
enum CheckpointTable {
  /// Returns a line for each checkpoint, and one more for what is wrong with it.
  static func lines(_ summaries: [CheckpointSummary], now: Date) -> [String] {
    let rows = summaries.map { summary in
      [
        summary.id ?? URL(fileURLWithPath: summary.location).lastPathComponent,
        summary.content.map { $0.stage ?? "version \($0.version)" } ?? "damaged",
        age(now.timeIntervalSince(summary.lastSave)), size(summary.byteCount), summary.holder.map(text) ?? "free",
      ].map(Console.oneLine)
    }
    let table = [["id", "stage", "age", "size", "lease"]] + rows
    let widths = (0..<5).map { column in table.map { $0[column].count }.max() ?? 0 }
    let lines = table.map { cells in
      let padded = cells.indices.dropLast().map { column in
        let space = String(repeating: " ", count: widths[column] - cells[column].count)
        // Ages and sizes are numbers.
        return column < 2 ? cells[column] + space : space + cells[column]
      }
      return (padded + cells.suffix(1)).joined(separator: "  ")
    }
    let problems = [[]] + summaries.map { $0.error.map { ["  " + Console.oneLine($0.cause)] } ?? [] }
    return zip(lines, problems).flatMap { [$0] + $1 }
  }

  static func text(of holder: CheckpointSummary.Holder) -> String {
    holder.processID.map { "process \($0)" } ?? "unknown process"
  }

  static func age(_ seconds: Double) -> String {
    let seconds = Int(max(0, min(seconds, 1e12)))
    return switch seconds {
    case ..<60: "\(seconds) s"
    case ..<3600: "\(seconds / 60) min"
    case ..<86400: "\(seconds / 3600) h"
    default: "\(seconds / 86400) d"
    }
  }

  static func size(_ bytes: Int) -> String {
    var (size, unit) = (Double(bytes), 0)
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024, unit < units.count - 1 { (size, unit) = (size / 1024, unit + 1) }
    // Cut, so that no size is shown as the next unit.
    return unit == 0 ? "\(bytes) B" : "\(Int(size)).\(Int(size * 10) % 10) \(units[unit])"
  }
}

/// A checkpoint as a JSON object, a line for each member.
enum CheckpointJSON {
  static func lines(of record: CheckpointRecord, _ summary: CheckpointSummary) throws -> [String] {
    let members = [
      ("id", try text(record.id)),
      ("progression", try text(record.progression)),
      ("schemaVersion", "\(record.schemaVersion)"),
      ("version", "\(record.version)"),
      ("lastSave", try text(summary.lastSave.formatted(.iso8601))),
      ("bytes", "\(summary.byteCount)"),
      ("file", try text(summary.location)),
      ("holder", summary.holder.map { $0.processID.map(String.init) ?? "\"unknown\"" } ?? "null"),
      ("first", try stage(record.first)),
      ("stage", try stage(record.stage)),
    ]
    let lines = members.map { name, value in "  \"\(name)\": \(printable(value))" }
    return ["{"] + lines.dropLast().map { $0 + "," } + lines.suffix(1) + ["}"]
  }

  private static func text(_ text: String) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .withoutEscapingSlashes
    return String(decoding: try encoder.encode(text), as: UTF8.self)
  }

  /// A stage as it is stored, so that no number loses a digit; in base64 when it is not JSON.
  private static func stage(_ bytes: [UInt8]) throws -> String {
    let data = Data(bytes)
    let isJSON = (try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed)) != nil
    return isJSON ? String(decoding: bytes, as: UTF8.self) : try text(data.base64EncodedString())
  }

  /// The value in one line, with the characters escaped that JSON allows in a text and that control a terminal.
  private static func printable(_ value: String) -> String {
    value.unicodeScalars.reduce(into: "") { line, scalar in
      switch scalar {
      // Between values, since a text has none.
      case "\n", "\r", "\t": line += " "
      case "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}":
        let digits = String(scalar.value, radix: 16)
        line += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: line.unicodeScalars.append(scalar)
      }
    }
  }
}
