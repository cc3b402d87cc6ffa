// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import StepwiseTracing

/// Writes what a command has found, as text or as JSON.
struct Output: Sendable {
  let isJSON: Bool
  let write: @Sendable (_ text: String, _ stream: Console.Stream) -> Void

  /// Writes one of the two.
  func show(_ lines: [String], _ json: JSON) {
    write(isJSON ? json.text + "\n" : lines.map { $0.onOneLine + "\n" }.joined(), .output)
  }

  /// Writes a record, in text with a line for each member that has a value.
  func show(_ record: Record) { show(Table.lines(of: record), .object(record)) }

  /// Writes a record, a text and a table of steps; in JSON, with further members instead of the text.
  func show(_ record: Record, steps: [Record], _ text: [String], also members: Record = []) {
    let lines = Table.lines(of: record) + [""] + text + Table.steps(steps).lines
    show(lines, .object(record + members + [("steps", .list(steps))]))
  }
}

/// What something has under which names, in order.
typealias Record = [(name: String, value: JSON)]

/// Records in columns, for a terminal and for a page; a column without any value is left out.
struct Table {
  private(set) var names: [String]
  private(set) var rows: [[JSON]]
  /// What stands in place of a table without rows.
  private let note: String

  init(_ records: [Record], _ names: [String], else note: String) {
    let all = records.map { record in names.map { name in record.first { $0.name == name }?.value ?? .string(nil) } }
    let used = names.indices.filter { column in all.contains { $0[column].brief != nil } }
    self.names = used.map { names[$0] }
    self.note = note
    rows = all.map { row in used.map { row[$0] } }
  }

  var lines: [String] {
    guard !rows.isEmpty else { return [note] }
    let numbers = names.indices.filter { column in rows.contains { $0[column].isNumber } }
    return Self.lines([names] + rows.map { row in row.map { $0.brief ?? "" } }, numbers: numbers)
  }

  static func steps(_ steps: [Record]) -> Table {
    Table(steps, ["name", "state", "error", "value"], else: "No step is stored.")
  }

  static func lines(of record: Record) -> [String] {
    lines(record.compactMap { member in member.value.plain.map { [member.name, $0] } })
  }

  /// Returns a line for each row; numbers are aligned at the right.
  static func lines(_ rows: [[String]], numbers: [Int] = []) -> [String] {
    let rows = rows.map { $0.map(\.onOneLine) }
    let widths = (rows.first ?? []).indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { cells in
      let padded = cells.indices.map { column in
        let space = String(repeating: " ", count: widths[column] - cells[column].count)
        return numbers.contains(column) ? space + cells[column] : cells[column] + space
      }
      let line = padded.joined(separator: "  ")
      return String(line.reversed().drop { $0 == " " }.reversed())
    }
  }
}

extension JSON {
  /// The age in the largest unit that fits.
  static func age(_ seconds: Double) -> String {
    let seconds = Int(max(0, min(seconds, 1e12)))
    return switch seconds {
    case ..<60: "\(seconds) s"
    case ..<3600: "\(seconds / 60) min"
    case ..<86400: "\(seconds / 3600) h"
    default: "\(seconds / 86400) d"
    }
  }

  /// A time before or after the present; the clock of the database may be a little ahead.
  static func relative(_ time: Double, past: String = " ago") -> String {
    let age = Date().timeIntervalSince1970 - time
    return age > -1 ? "\(self.age(age))\(past)" : "in \(self.age(-age))"
  }
}

/// A value as JSON and as people read it; nil is null.
enum JSON: Sendable {
  case flag(Bool)
  case number(Int?)
  case string(String?)
  /// A value that is stored as JSON, so that no number loses a digit.
  case stored(String)
  /// Seconds since 1970.
  case time(Double?)
  case duration(Duration?)
  case bytes(Int)
  case list([Record])
  case object(Record)

  /// The value in a table, where a time is an age; nil when there is none.
  var brief: String? {
    switch self {
    case .flag(let flag): flag ? "yes" : nil
    case .number(let number): number.map { "\($0)" }
    case .string(let text): text
    case .time(let time): time.map { Self.relative($0, past: "") }
    case .duration(let duration): duration.map { $0 < .seconds(60) ? $0.brief : Self.age($0 / .seconds(1)) }
    case .bytes(let count): "\((count + 1_023) / 1_024) KiB"
    case .stored, .list, .object: text
    }
  }

  /// The value as a field; nil when there is none.
  var plain: String? {
    switch self {
    case .flag(false): "no"
    case .time(let time): time.map { Date(timeIntervalSince1970: $0).formatted(.iso8601) }
    default: brief
    }
  }

  var isNumber: Bool {
    switch self {
    case .number, .time, .duration, .bytes: brief != nil
    default: false
    }
  }

  /// The value as JSON, in one line.
  var text: String {
    switch self {
    case .flag(let flag): "\(flag)"
    case .number(let number): number.map { "\($0)" } ?? "null"
    case .string(let text): text.map(Self.quoted) ?? "null"
    case .stored(let value): Self.printable(value)
    case .time: plain.map(Self.quoted) ?? "null"
    case .duration(let duration): duration.map { "\(($0 / .milliseconds(1)).rounded() / 1_000)" } ?? "null"
    case .bytes(let count): "\(count)"
    case .list(let records): "[\(records.map { JSON.object($0).text }.joined(separator: ", "))]"
    case .object(let members):
      "{\(members.map { "\(Self.quoted($0.name)): \($0.value.text)" }.joined(separator: ", "))}"
    }
  }

  private static func quoted(_ text: String) -> String {
    let options: JSONSerialization.WritingOptions = [.fragmentsAllowed, .withoutEscapingSlashes]
    let data = try? JSONSerialization.data(withJSONObject: text, options: options)
    return printable(String(decoding: data ?? Data(), as: UTF8.self))
  }

  /// The value in one line, with the characters escaped that JSON allows in a text and that control a terminal.
  private static func printable(_ value: String) -> String {
    value.unicodeScalars.reduce(into: "") { line, scalar in
      switch scalar {
      // Between values, since a text has none.
      case "\n", "\r", "\t": line += " "
      case "\u{7F}"..."\u{9F}", "\u{2028}", "\u{2029}", "\u{202A}"..."\u{202E}", "\u{2066}"..."\u{2069}":
        line += String(format: "\\u%04x", scalar.value)
      default: line.unicodeScalars.append(scalar)
      }
    }
  }
}
