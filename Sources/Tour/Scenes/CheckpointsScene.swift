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
    let width = Console.isTerminal(.output) ? Console.size(.output).columns : .max
    for line in try await command.run(width: width, now: Date()) { Console.writeLine(line) }
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
  init(_ arguments: [String]) throws(Command.UsageError) {
    folder = arguments.first ?? ""
    let words = arguments.dropFirst().filter { $0 != "--force" }
    let isForced = words.count < arguments.count - 1
    switch (words.first, words.count, isForced) {
    case (nil, 0, false): action = .list
    case ("show", 2, false): action = .show(words[1])
    case ("remove", 2, _): action = .remove(words[1], isForced: isForced)
    default:
      let problem = "cannot understand '\(arguments.dropFirst().joined(separator: " "))' after the folder"
      throw Command.UsageError(description: "\(problem); 'swift run Tour --help' says what may follow")
    }
  }

  /// Does what the arguments say.
  ///
  /// - Parameters:
  ///   - width: The number of columns to fit into.
  ///   - now: The time from which ages are counted.
  /// - Returns: The lines of output.
  /// - Throws: An error that says what to do.
  func run(width: Int, now: Date) async throws -> [String] {
    let store = try store()
    let summaries = try await store.summaries()
    guard !summaries.isEmpty else {
      throw CheckpointFailure("there are no checkpoints in '\(folder)'; \(Self.hint)")
    }
    switch action {
    case .list: return CheckpointTable(summaries, now: now).lines(width: width)
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
struct CheckpointTable {
  /// The narrowest id and stage of a table; a narrower terminal shows each checkpoint in lines of its own.
  private static let narrowest = 8
  private static let titles = ["id", "stage", "age", "size", "lease"]

  private let rows: [(cells: [String], problem: String?)]

  init(_ summaries: [CheckpointSummary], now: Date) {
    rows = summaries.map { summary in
      let name = summary.id ?? URL(fileURLWithPath: summary.location).lastPathComponent
      let stage = summary.content.map { $0.stage ?? "version \($0.version)" } ?? "damaged"
      let cells = [
        name, stage, Self.age(now.timeIntervalSince(summary.lastSave)), Self.size(summary.byteCount),
        summary.holder.map(Self.text) ?? "free",
      ]
      return (cells.map(Console.oneLine), summary.error.map { Console.oneLine($0.cause) })
    }
  }

  func lines(width: Int) -> [String] {
    let cells = [Self.titles] + rows.map(\.cells)
    var widths = Self.titles.indices.map { column in cells.map { TextWidth.of($0[column]) }.max() ?? 0 }
    let gaps = 2 * (widths.count - 1)
    // The id and the stage share what the other columns leave.
    let left = width == .max ? .max : width - gaps - widths[2...].reduce(0, +)
    if widths[0] + widths[1] > left {
      guard left >= 2 * Self.narrowest else { return rows.flatMap { Self.stacked($0.cells, $0.problem, width) } }
      widths[1] = min(widths[1], max(left / 2, left - widths[0]))
      widths[0] = left - widths[1]
    }
    var lines = [Self.line(Self.titles, widths)]
    for row in rows {
      lines.append(Self.line(row.cells, widths))
      if let problem = row.problem { lines.append("  \(problem)") }
    }
    return lines
  }

  private static func line(_ cells: [String], _ widths: [Int]) -> String {
    let padded = zip(cells, widths).enumerated().map { column, cell in
      let text = TextWidth.cut(cell.0, to: cell.1)
      let space = String(repeating: " ", count: max(0, cell.1 - TextWidth.of(text)))
      if column == titles.count - 1 { return text }
      // Ages and sizes are numbers.
      return column == 2 || column == 3 ? space + text : text + space
    }
    return padded.joined(separator: "  ")
  }

  private static func stacked(_ cells: [String], _ problem: String?, _ width: Int) -> [String] {
    let details = zip(titles, cells).dropFirst().map { title, cell in "  \(title) \(cell)" }
    return ([cells[0]] + details).map { TextWidth.cut($0, to: width) } + (problem.map { ["  \($0)"] } ?? [])
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
