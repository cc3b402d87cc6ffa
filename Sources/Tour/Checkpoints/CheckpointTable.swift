// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints

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
