// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension RunTrace {
  /// A timeline as SVG: one row for each run and attempt of a step, with the outcome as colour and word.
  ///
  /// It follows the light or dark appearance of the reader and stays legible when it is scaled down. Long names are
  /// cut. At most 200 rows are drawn.
  public var svg: String {
    var drawing = TimelineDrawing(duration: duration)
    for run in runs { drawing.add(run, depth: 0) }
    return drawing.text(droppedCount: droppedEventCount, droppedRunCount: droppedRunCount)
  }
}

/// Draws spans as rows: a line of text, and a bar below it at its place in time.
private struct TimelineDrawing {
  private static let width = 900
  private static let margin = 16
  private static let rowHeight = 42
  private static let maxRows = 200
  /// Above the rows: the times of the grid.
  private static let top = 40

  private let total: Int64
  private var rows: [String] = []
  private var rowCount = 0

  init(duration: Duration) { total = max(1, duration.nanoseconds) }

  mutating func add(_ span: RunTrace.Span, depth: Int) {
    let span = span.withoutRepeatedStep
    rowCount += 1
    if rowCount <= Self.maxRows { rows.append(row(span, depth: depth, y: Self.top + (rowCount - 1) * Self.rowHeight)) }
    for child in span.children { add(child, depth: depth + 1) }
  }

  func text(droppedCount: Int, droppedRunCount: Int) -> String {
    var footer: [String] = []
    if rowCount > Self.maxRows { footer.append("\(rowCount - Self.maxRows) more rows") }
    if droppedCount > 0 { footer.append("\(droppedCount) earlier events were dropped") }
    if droppedRunCount > 0 { footer.append("\(droppedRunCount) earlier runs were dropped") }
    let rowsEnd = Self.top + min(rowCount, Self.maxRows) * Self.rowHeight
    let height = rowsEnd + (footer.isEmpty ? 12 : 40)
    var lines = [
      """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(Self.width)" height="\(height)" \
      viewBox="0 0 \(Self.width) \(height)" font-family="sans-serif" font-size="14" role="img" \
      aria-label="Timeline of a run">
      """,
      Self.style,
      "<rect class=\"page\" width=\"\(Self.width)\" height=\"\(height)\" rx=\"8\" fill=\"#ffffff\"/>",
    ]
    lines += grid(to: rowsEnd) + rows
    if !footer.isEmpty {
      let text = footer.joined(separator: ", ")
      lines.append("<text class=\"dim\" x=\"\(Self.margin)\" y=\"\(rowsEnd + 24)\" \(Self.dim)>\(text)</text>")
    }
    return (lines + ["</svg>"]).map { $0 + "\n" }.joined()
  }

  // MARK: - Colours

  /// Each element has plain colours, for programs that ignore the style, which has those of the dark appearance.
  private static let style = """
    <style>
    svg { max-width: 100%; height: auto; }
    text { font: 14px system-ui, -apple-system, "Segoe UI", sans-serif; }
    .run { font-weight: 600; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; } text { fill: #f0f6fc; } .dim { fill: #9198a1; } .grid { stroke: #3d444d; }
      .succeeded { fill: #3fb950; } .failed { fill: #f85149; } .cancelled { fill: #d29922; }
      .abandoned { fill: #ab7df8; } .running, .queued, .scheduled, .waiting { fill: #4493f8; }
      .undone { stroke: #3fb950; } .note { fill: #0d1117; stroke: #f0f6fc; }
    }
    @media (max-width: 600px) { text { font-size: 23px; transform: translateY(-3px); } .more { display: none; } }
    </style>
    """
  private static let ink = "fill=\"#1f2328\""
  private static let dim = "fill=\"#59636e\""
  private static let undone = "fill-opacity=\"0.25\" stroke=\"#1f883d\" stroke-dasharray=\"5 3\""

  private static func fill(_ status: RunTrace.Status) -> String {
    switch status {
    case .succeeded: "fill=\"#1f883d\""
    case .failed: "fill=\"#cf222e\""
    case .cancelled: "fill=\"#9a6700\""
    case .abandoned: "fill=\"#8250df\""
    default: "fill=\"#0969da\""
    }
  }

  // MARK: - Rows

  private func row(_ span: RunTrace.Span, depth: Int, y: Int) -> String {
    let isRun = span.kind == .run
    let indentation = Self.margin + min(depth, 8) * 16
    let (start, end) = (position(span.start), position(span.end))
    let (barHeight, barTop) = isRun ? (5, y + 29) : (10, y + 27)
    let length = max(3, end - start)
    let x = min(start, Double(Self.width - Self.margin) - length)
    let (status, fill) = (span.status.rawValue, Self.fill(span.status))
    let remarks = span.remarks(withDetail: false)
    var words = "<tspan class=\"\(status)\" \(fill)>\(remarks.joined(separator: " · ").escapedForMarkup)</tspan>"
    if remarks.isEmpty { words = "" }
    if span.status != .succeeded, let detail = span.detail {
      words += "<tspan class=\"more dim\" \(Self.dim)>: \(detail.cut(to: 48).escapedForMarkup)</tspan>"
    }
    // Not a space, which some programs drop at the start of an element.
    let separator = remarks.isEmpty ? "" : "\u{A0}· "
    var lines = [
      """
      <text\(isRun ? " class=\"run\" font-weight=\"600\"" : "") x="\(indentation)" y="\(y + 20)" \(Self.ink)>\
      \(span.label.cut(to: 30).escapedForMarkup)</text>
      """,
      """
      <text class="end" x="\(Self.width - Self.margin)" y="\(y + 20)" text-anchor="end" \(Self.ink)>\(words)\
      <tspan class="dim" \(Self.dim)>\(separator)\(span.duration.brief)</tspan></text>
      """,
      """
      <rect class="\(status)\(span.isUndone ? " undone" : "")" x="\(Self.tenths(x))" y="\(barTop)" \
      width="\(Self.tenths(length))" height="\(barHeight)" rx="2" \(fill)\(span.isUndone ? " \(Self.undone)" : "")>\
      <title>\(title(span).escapedForMarkup)</title></rect>
      """,
    ]
    for note in span.notes {
      let title = "\(note.text) at \(note.time.brief)".escapedForMarkup
      lines.append(
        """
        <circle class="note" cx="\(Self.tenths(position(note.time)))" cy="\(barTop + barHeight / 2)" r="4.5" \
        fill="#ffffff" stroke="#1f2328" stroke-width="1.5"><title>\(title)</title></circle>
        """
      )
    }
    return lines.joined(separator: "\n")
  }

  private func title(_ span: RunTrace.Span) -> String {
    ([span.label] + span.remarks() + ["from \(span.start.brief) to \(span.end.brief)"]).joined(separator: " · ")
  }

  /// Lines and their times, at intervals of 1, 2 or 5 times a power of ten.
  private func grid(to bottom: Int) -> [String] {
    var interval: Int64 = 1
    var factor = 0
    while total / interval > 6 {
      interval = factor % 3 == 1 ? interval / 2 * 5 : interval * 2
      factor += 1
    }
    return stride(from: interval, to: total, by: Int64.Stride(interval)).flatMap { time in
      let position = position(.nanoseconds(time))
      let x = Self.tenths(position)
      let line = "<line class=\"grid\" x1=\"\(x)\" x2=\"\(x)\" y1=\"34\" y2=\"\(bottom)\" stroke=\"#d1d9e0\"/>"
      guard position < Double(Self.width - 60) else { return [line] }
      let label = Duration.nanoseconds(time).brief
      return [line, "<text class=\"dim\" x=\"\(x)\" y=\"24\" text-anchor=\"middle\" \(Self.dim)>\(label)</text>"]
    }
  }

  private func position(_ time: Duration) -> Double {
    let share = Double(min(time.nanoseconds, total)) / Double(total)
    return Double(Self.margin) + share * Double(Self.width - 2 * Self.margin)
  }

  private static func tenths(_ number: Double) -> String {
    let tenths = Int((number * 10).rounded())
    return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}

extension String {
  private static let markup: [Unicode.Scalar: String] = [
    "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;", "\u{FFFE}": "\u{FFFD}",
    "\u{FFFF}": "\u{FFFD}",
  ]

  /// The text on one line for an element or a quoted attribute; what XML does not allow becomes a space or a replacement
  /// character.
  package var escapedForMarkup: String {
    // By scalars, as a mark and the character before it are one character, which is markup to a browser.
    onOneLine.unicodeScalars.reduce(into: "") { $0 += Self.markup[$1] ?? String($1) }
  }
}
