// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension RunTrace {
  /// The trace in the Trace Event Format, which Perfetto and chrome://tracing open.
  ///
  /// Each run and step is a complete event (`ph` is `X`), each note an instant event (`i`) of its thread. Times are in
  /// microseconds. What overlaps in time is on separate threads.
  public var chromeTrace: String {
    var writer = ChromeTraceWriter()
    for run in runs { writer.add(run) }
    let other = JSONText.object([
      ("droppedEvents", JSONText.string("\(droppedEventCount)")),
      ("droppedRuns", JSONText.string("\(droppedRunCount)")),
    ])
    return JSONText.object([
      ("traceEvents", JSONText.array(writer.threads + writer.events)), ("displayTimeUnit", JSONText.string("ms")),
      ("otherData", other),
    ])
  }
}

/// Lays spans out on threads, so that those on one thread are nested.
private struct ChromeTraceWriter {
  private(set) var events: [String] = []
  /// The time at which each thread becomes free.
  private var freeFrom: [Duration] = []

  var threads: [String] {
    freeFrom.indices.map { thread in
      JSONText.object([
        ("name", JSONText.string("thread_name")), ("ph", JSONText.string("M")), ("pid", "1"), ("tid", "\(thread + 1)"),
        ("args", JSONText.object([("name", JSONText.string("lane \(thread + 1)"))])),
      ])
    }
  }

  mutating func add(_ run: RunTrace.Span) { add(run, on: freeThread(for: run)) }

  private mutating func add(_ span: RunTrace.Span, on thread: Int) {
    freeFrom[thread] = max(freeFrom[thread], span.end)
    var arguments = [("status", JSONText.string(span.status.rawValue)), ("attempt", "\(span.attempt)")]
    if let detail = span.detail { arguments.append(("detail", JSONText.string(detail))) }
    if span.isUndone { arguments.append(("undone", "true")) }
    events.append(
      JSONText.object([
        ("name", JSONText.string(span.label)), ("cat", JSONText.string(span.kind.rawValue)),
        ("ph", JSONText.string("X")), ("ts", Self.microseconds(span.start)), ("dur", Self.microseconds(span.duration)),
        ("pid", "1"), ("tid", "\(thread + 1)"), ("args", JSONText.object(arguments)),
      ])
    )
    for note in span.notes {
      events.append(
        JSONText.object([
          ("name", JSONText.string(note.text)), ("cat", JSONText.string("note")), ("ph", JSONText.string("i")),
          ("s", JSONText.string("t")), ("ts", Self.microseconds(note.time)), ("pid", "1"), ("tid", "\(thread + 1)"),
        ])
      )
    }
    var lastEnd = span.start
    for child in span.children {
      if child.start >= lastEnd, child.end <= span.end {
        lastEnd = child.end
        add(child, on: thread)
      } else {
        add(child, on: freeThread(for: child))
      }
    }
  }

  private mutating func freeThread(for span: RunTrace.Span) -> Int {
    if let thread = freeFrom.firstIndex(where: { $0 <= span.start }) { return thread }
    freeFrom.append(.zero)
    return freeFrom.count - 1
  }

  private static func microseconds(_ duration: Duration) -> String {
    let time = duration.nanoseconds
    let part = "\(time % 1_000)"
    return "\(time / 1_000).\(String(repeating: "0", count: 3 - part.count))\(part)"
  }
}

/// JSON without a dependency: texts of values.
enum JSONText {
  static func object(_ fields: [(String, String)]) -> String {
    "{" + fields.map { "\(string($0)):\($1)" }.joined(separator: ",") + "}"
  }

  static func array(_ values: [String]) -> String { "[" + values.joined(separator: ",\n") + "]" }

  static func string(_ text: String) -> String {
    var escaped = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": escaped += "\\\(scalar)"
      case _ where scalar.value < 0x20 || (0x2028...0x2029).contains(scalar.value):
        let digits = String(scalar.value, radix: 16)
        escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default:
        if let escape = scalar.escapedOverride {
          escaped += "\\" + escape
        } else {
          escaped.unicodeScalars.append(scalar)
        }
      }
    }
    return escaped + "\""
  }
}
