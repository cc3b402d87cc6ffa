// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The format in which `describe` draws: text, or Mermaid.
///
/// Use `mermaid` for your documentation, and text for a terminal. The same chain, flow, job or list of stages yields
/// the same text in each format, byte for byte.
public struct DiagramFormat: Hashable, Sendable {
  private enum Kind {
    case text, mermaid
  }

  private let kind: Kind

  /// An indented list, for logs and terminals; everything below level 32 is indented alike.
  public static let text = DiagramFormat(kind: .text)

  /// A flow chart in Mermaid syntax (mermaid.js.org).
  public static let mermaid = DiagramFormat(kind: .mermaid)

  /// Returns a diagram in this format, in lines that end with a line break.
  package func text(of diagram: Diagram) -> String {
    let lines =
      switch kind {
      case .text: diagram.outline
      case .mermaid: diagram.mermaid
      }
    return lines.map { $0 + "\n" }.joined()
  }
}

/// A graph of nodes, in clusters that may be nested, and of the edges between them.
///
/// The nodes and clusters are one flat list, so that drawing takes no recursion, whatever the depth.
package struct Diagram {
  package enum Shape {
    case step
    /// What is called for an error, a timeout, an update, or at the end.
    case handler
    /// An undo; an outline says so at its step.
    case undo
    /// A stage with a result.
    case last
    /// The end of a flow; an outline only shows what leads to it.
    case end
  }

  enum Item {
    case node(Int, String, Shape)
    case open(Int, String)
    case close
  }

  package struct Edge: Hashable {
    let from: Int
    /// The cluster that the edge leaves, which contains `from`.
    var cluster: Int?
    let to: Int
    let label: String?
    let isDashed: Bool

    package init(from: Int, to: Int, label: String? = nil, isDashed: Bool = false) {
      (self.from, self.to, self.label, self.isDashed) = (from, to, label, isDashed)
    }
  }

  /// A cluster that is complete; `node` is nil when it is empty.
  struct Cluster {
    let id: Int
    let node: Int?
  }

  /// Whether each node follows the previous node: an outline then needs no edges.
  let isSequence: Bool
  private(set) var items: [Item] = []
  private(set) var edges: [Edge] = []
  private var count = 0
  private var lastNode: Int?
  private var openClusters: [Int] = []

  package init(isSequence: Bool) {
    self.isSequence = isSequence
  }

  /// Adds a node, to the open clusters, and edges to it.
  package mutating func add(_ label: String, _ shape: Shape = .step, after tails: [Int] = []) -> Int {
    defer { count += 1 }
    items.append(.node(count, label, shape))
    edges += tails.map { Edge(from: $0, to: count) }
    lastNode = count
    return count
  }

  package mutating func add(_ edge: Edge) { edges.append(edge) }

  /// Adds a dashed edge that leaves a cluster.
  mutating func connect(_ cluster: Cluster, to node: Int, _ label: String) {
    guard let inner = cluster.node else { return }
    var edge = Edge(from: inner, to: node, label: label, isDashed: true)
    edge.cluster = cluster.id
    edges.append(edge)
  }

  mutating func open(_ label: String) {
    items.append(.open(count, label))
    openClusters.append(count)
    count += 1
  }

  /// Closes the cluster that was opened last.
  @discardableResult
  mutating func close() -> Cluster {
    items.append(.close)
    let id = openClusters.removeLast()
    return Cluster(id: id, node: lastNode.flatMap { $0 > id ? $0 : nil })
  }
}

// MARK: - Formats

extension Diagram {
  /// The lines of an outline.
  var outline: [String] {
    var names: [Int: String] = [:]
    for case .node(let id, let label, _) in items { names[id] = Self.plain(label) }
    let edges = isSequence ? [:] : Dictionary(grouping: edges, by: \.from)
    var lines: [String] = []
    var level = 0
    for item in items {
      // The text of deep diagrams would grow with the square of their depth.
      let indentation = String(repeating: "  ", count: min(level, 32))
      switch item {
      case .node(_, _, .undo), .node(_, _, .end): break
      case .node(let id, let label, _):
        lines.append("\(indentation)- \(Self.plain(label))")
        for edge in edges[id] ?? [] {
          lines.append("\(indentation)  \(edge.isDashed ? "~>" : "->") \(names[edge.to] ?? "")")
        }
      case .open(_, let label):
        lines.append("\(indentation)- \(Self.plain(label))")
        level += 1
      case .close: level -= 1
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

  /// A label on one line; a space when it is empty.
  private static func plain(_ label: String) -> String { label.isEmpty ? " " : label.onOneLine }

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
