// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A graph of nodes, in clusters that may be nested, and of the edges between them.
///
/// The nodes and clusters are one flat list, so that drawing takes no recursion, whatever the depth.
struct Diagram {
  enum Shape {
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

  struct Edge: Hashable {
    let from: Int
    /// The cluster that the edge leaves, which contains `from`.
    var cluster: Int?
    let to: Int
    var label: String?
    var isDashed = false
  }

  /// A cluster that is complete; `node` is nil when it is empty.
  struct Cluster {
    let id: Int
    let node: Int?
  }

  /// Whether each node follows the one before it, so that an outline needs no edges.
  let isSequence: Bool
  private(set) var items: [Item] = []
  private(set) var edges: [Edge] = []
  private var count = 0
  private var lastNode: Int?
  private var openClusters: [Int] = []

  init(isSequence: Bool) {
    self.isSequence = isSequence
  }

  /// Adds a node, to the open clusters, and edges to it.
  mutating func add(_ label: String, _ shape: Shape = .step, after tails: [Int] = []) -> Int {
    defer { count += 1 }
    items.append(.node(count, label, shape))
    edges += tails.map { Edge(from: $0, to: count) }
    lastNode = count
    return count
  }

  mutating func add(_ edge: Edge) { edges.append(edge) }

  /// Adds a dashed edge that leaves a cluster.
  mutating func connect(_ cluster: Cluster, to node: Int, _ label: String) {
    guard let inner = cluster.node else { return }
    edges.append(Edge(from: inner, cluster: cluster.id, to: node, label: label, isDashed: true))
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

extension Int {
  /// The number of handlers, as labels say it.
  var handlers: String { self == 1 ? "1 handler" : "\(self) handlers" }
}
