// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Diagram {
  /// The lines of an outline.
  var outline: [String] {
    var names: [Int: String] = [:]
    for case .node(let id, let label, _) in items { names[id] = Self.plain(label) }
    let edges = isSequence ? [:] : Dictionary(grouping: edges, by: \.from)
    var lines: [String] = []
    var indentation = ""
    for item in items {
      switch item {
      case .node(_, _, .undo), .node(_, _, .end): break
      case .node(let id, let label, _):
        lines.append("\(indentation)- \(Self.plain(label))")
        for edge in edges[id] ?? [] {
          lines.append("\(indentation)  \(edge.isDashed ? "~>" : "->") \(names[edge.to] ?? "")")
        }
      case .open(_, let label):
        lines.append("\(indentation)- \(Self.plain(label))")
        indentation += "  "
      case .close: indentation.removeLast(2)
      }
    }
    return lines
  }

  /// The lines of a flow chart in Mermaid syntax.
  var mermaid: [String] {
    var lines = ["flowchart TD"]
    var undos: [String] = []
    for item in items {
      switch item {
      case .node(let id, let label, let shape):
        let text = "\"\(Self.escapedForMermaid(label))\""
        switch shape {
        case .step: lines.append("n\(id)[\(text)]")
        case .handler: lines.append("n\(id)(\(text))")
        case .last, .end: lines.append("n\(id)([\(text)])")
        case .undo:
          lines.append("n\(id)[\(text)]")
          undos.append("n\(id)")
        }
      case .open(let id, let label):
        // Mermaid lays out a box that an edge leaves from left to right otherwise.
        lines += ["subgraph c\(id)[\"\(Self.escapedForMermaid(label))\"]", "direction TB"]
      case .close: lines.append("end")
      }
    }
    for edge in edges {
      let from = edge.cluster.map { "c\($0)" } ?? "n\(edge.from)"
      let label = edge.label.map { "|\"\(Self.escapedForMermaid($0))\"|" } ?? ""
      lines.append("\(from) \(edge.isDashed ? "-.->" : "-->")\(label) n\(edge.to)")
    }
    if !undos.isEmpty {
      lines += ["classDef undo stroke-dasharray: 4 3", "class \(undos.joined(separator: ",")) undo"]
    }
    return lines
  }

  // MARK: - Labels

  /// A label in one line, without characters that control a terminal; a space when it is empty.
  private static func plain(_ label: String) -> String {
    let scalars = label.unicodeScalars.map { scalar in
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: " " as Unicode.Scalar
      default: scalar
      }
    }
    return scalars.isEmpty ? " " : String(String.UnicodeScalarView(scalars))
  }

  /// A label in which all ASCII but letters, digits and some marks is an entity.
  ///
  /// Mermaid looks for directives, Markdown, HTML, formulas and icons in labels.
  private static func escapedForMermaid(_ label: String) -> String {
    plain(label).unicodeScalars.reduce(into: "") { text, scalar in
      switch scalar {
      case "\"": text += "#quot;"
      case "a"..."z", "A"..."Z", "0"..."9", " ", ",", "(", ")", "?", "!", "/", "=": text.unicodeScalars.append(scalar)
      default:
        if scalar.isASCII { text += "#\(scalar.value);" } else { text.unicodeScalars.append(scalar) }
      }
    }
  }
}
