// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Progression {
  /// Returns a diagram of stages, in the order in which a run reaches them.
  ///
  /// A progression cannot name its next stage without doing the work, so that the diagram shows what it is given:
  /// stages that a run has reached, or samples in that order. Stages of one case of an enum are one node. An edge
  /// leads from each stage to the next one in the sequence, except from a stage that has a result, after which another
  /// path may follow.
  ///
  /// - Parameters:
  ///   - format: The format of the diagram.
  ///   - stages: The stages.
  /// - Returns: The diagram, in lines that end with a line break.
  public static func describe(_ format: DiagramFormat = .text, stages: some Sequence<Self>) -> String {
    var diagram = Diagram(isSequence: false)
    var nodes: [String: Int] = [:]
    var edges: Set<Diagram.Edge> = []
    var previous: Int?
    for stage in stages {
      let name = stage.stageName
      let isLast = stage.result != nil
      let node = nodes[name] ?? diagram.add(name, isLast ? .last : .step)
      nodes[name] = node
      if let previous {
        let edge = Diagram.Edge(from: previous, to: node)
        if edges.insert(edge).inserted { diagram.add(edge) }
      }
      previous = isLast ? nil : node
    }
    return format.text(of: diagram)
  }

  /// The name of the stage in a diagram: the case of an enum, or else the type.
  package var stageName: String {
    let mirror = Mirror(reflecting: self)
    guard mirror.displayStyle == .enum else { return "\(Self.self)" }
    return mirror.children.first?.label ?? "\(self)"
  }
}

extension Progression where Self: CaseIterable {
  /// Returns a diagram of all cases, in the order of `allCases`, which should be the order in which a run reaches them.
  ///
  /// - Parameter format: The format of the diagram.
  /// - Returns: The diagram, in lines that end with a line break.
  public static func describe(_ format: DiagramFormat = .text) -> String { describe(format, stages: allCases) }
}
