// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

extension RunTrace {
  /// A tree of the runs and steps with durations, one line each, for logs and terminals.
  ///
  /// ```text
  /// checkout · failed: OutOfStock · 231 ms
  /// ├─ reserve · undone · 12 ms
  /// ├─ pay · attempt 2 · 180 ms
  /// ╰─ ship · failed: OutOfStock · 30 ms
  /// ```
  public var text: String {
    var lines: [String] = []
    for run in runs { Self.add(run, to: &lines, first: "", rest: "") }
    if droppedEventCount > 0 { lines.append("(\(droppedEventCount) earlier events were dropped)") }
    if droppedRunCount > 0 { lines.append("(\(droppedRunCount) earlier runs were dropped)") }
    return lines.map { $0 + "\n" }.joined()
  }

  private static func add(_ span: Span, to lines: inout [String], first: String, rest: String) {
    lines.append(first + ([span.label.onOneLine] + span.remarks() + [span.duration.brief]).joined(separator: " · "))
    // Notes and children in the order in which they happened.
    let span = span.withoutRepeatedStep
    let notes = span.notes.map { (time: $0.time, order: $0.order, note: $0.text as String?, span: nil as Span?) }
    let children = span.children.map { (time: $0.start, order: $0.order, note: nil as String?, span: $0 as Span?) }
    let items = (children + notes).sorted { ($0.time, $0.order) < ($1.time, $1.order) }
    for (position, item) in items.enumerated() {
      let isLast = position == items.count - 1
      let head = rest + (isLast ? "╰─ " : "├─ ")
      if let note = item.note { lines.append("\(head)\(note.onOneLine) (at \(item.time.brief))") }
      if let span = item.span { add(span, to: &lines, first: head, rest: rest + (isLast ? "   " : "│  ")) }
    }
  }
}

extension RunTrace.Span {
  /// The name, with the role of a branch.
  var label: String {
    switch role {
    case "zip"?, "race"?: "\(role ?? ""): \(name)"
    default: name
    }
  }

  /// The span of a chain of one closure that calls `step`, with the steps of the closure as the steps of the run.
  ///
  /// Its only step has the name and the outcome of the run, and would be a second row that says the same.
  var withoutRepeatedStep: RunTrace.Span {
    guard kind == .run, children.count == 1, let step = children.first, !step.children.isEmpty,
      step.kind == .step, step.name == name, step.status == status, !step.isUndone
    else { return self }
    var span = self
    span.notes = step.notes + notes
    span.children = step.children
    return span
  }

  /// The attempt and the status, where they are worth a word.
  func remarks(withDetail: Bool = true) -> [String] {
    var remarks: [String] = []
    if attempt > 1 { remarks.append("attempt \(attempt)") }
    if status != .succeeded {
      let detail = withDetail ? detail.map { ": " + $0.onOneLine } : nil
      remarks.append(status.rawValue + (detail ?? ""))
    } else if let detail {
      // It was replayed.
      remarks.append(detail)
    }
    if isUndone { remarks.append("undone") }
    return remarks
  }
}

extension String {
  /// The text on one line, in which control characters and line breaks are spaces.
  ///
  /// Characters that override the direction of writing are escaped, because they would reorder the text around them.
  package var onOneLine: String {
    unicodeScalars.reduce(into: "") { line, scalar in
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: line += " "
      default: if let escape = scalar.escapedOverride { line += escape } else { line.unicodeScalars.append(scalar) }
      }
    }
  }

  /// The text, with an ellipsis in place of what exceeds a number of characters.
  func cut(to count: Int) -> String { self.count > count ? prefix(count - 1) + "…" : self }
}

extension Unicode.Scalar {
  /// An escape such as `\u{202E}`, if the character overrides the direction of writing.
  var escapedOverride: String? {
    switch value {
    case 0x202A...0x202E, 0x2066...0x2069: "\\u{\(String(value, radix: 16, uppercase: true))}"
    default: nil
    }
  }
}

extension Duration {
  /// The nanoseconds, from zero to a century.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = clamped.components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }

  /// The duration with three significant digits, for example "1.25 s".
  package var brief: String {
    let time = nanoseconds
    switch time {
    case ..<1_000: return "\(time) ns"
    case ..<1_000_000: return Self.digits(time, per: 1_000) + " µs"
    case ..<1_000_000_000: return Self.digits(time, per: 1_000_000) + " ms"
    case ..<60_000_000_000: return Self.digits(time, per: 1_000_000_000) + " s"
    default: return "\(time / 60_000_000_000) min \(time / 1_000_000_000 % 60) s"
    }
  }

  private static func digits(_ time: Int64, per unit: Int64) -> String {
    let hundredths = (time / (unit / 100))
    let (whole, part) = (hundredths / 100, hundredths % 100)
    if whole >= 100 || part == 0 { return "\(whole)" }
    if whole >= 10 { return part < 10 ? "\(whole)" : "\(whole).\(part / 10)" }
    return part % 10 == 0 ? "\(whole).\(part / 10)" : "\(whole).\(part < 10 ? "0" : "")\(part)"
  }
}
