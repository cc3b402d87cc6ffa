// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Flow {
  /// Returns a diagram of the flow: the transitions that `leadsTo` declares, and, dashed, those that its runs took.
  ///
  /// - Parameter format: The format of the diagram.
  /// - Returns: The diagram, in lines that end with a line break.
  public func describe(_ format: DiagramFormat = .text) -> String {
    let plan = FlowPlan(definition, taken: latest.taken)
    return (format == .mermaid ? plan.mermaid : plan.text).map { $0 + "\n" }.joined()
  }
}

/// The transitions that a flow's runs took, in the order in which each was first taken.
struct FlowTurns {
  struct Turn: Hashable {
    let from: AnyFlowStep
    /// Nil for the flow's end.
    let to: AnyFlowStep?
  }

  private(set) var all: [Turn] = []
  private var known: Set<Turn> = []

  mutating func insert(from: AnyFlowStep, to: AnyFlowStep?) {
    let turn = Turn(from: from, to: to)
    if known.insert(turn).inserted { all.append(turn) }
  }
}

/// The steps of a flow and the transitions between them, by position.
@MainActor
private struct FlowPlan {
  private struct Turn: Hashable {
    let from: Int
    /// Nil for the end.
    let to: Int?
  }

  private var names: [String] = []
  private var declared: [Turn] = []
  private var taken: [Turn] = []

  init<Output>(_ definition: FlowDefinition<Output>, taken turns: FlowTurns) {
    var positions: [AnyFlowStep: Int] = [:]
    var names: [String] = []
    func position(_ step: AnyFlowStep) -> Int {
      if let position = positions[step] { return position }
      positions[step] = names.count
      names.append(step.name)
      return names.count - 1
    }
    for step in definition.steps { _ = position(step) }
    for step in definition.steps {
      let link = definition[step]
      let from = position(step)
      declared += link.targets.map { Turn(from: from, to: position($0)) }
      if link.onAnswer == nil { declared.append(Turn(from: from, to: nil)) }
    }
    taken = turns.all.map { turn in Turn(from: position(turn.from), to: turn.to.map(position)) }
    self.names = names
  }

  var text: [String] {
    var lines: [String] = []
    for (index, name) in names.enumerated() {
      lines.append("- \(name)")
      for edge in declared where edge.from == index { lines.append("  -> \(self.name(edge.to))") }
      for edge in taken where edge.from == index { lines.append("  ~> \(self.name(edge.to))") }
    }
    return lines
  }

  var mermaid: [String] {
    var lines = ["flowchart TD"]
    for (index, name) in names.enumerated() { lines.append("n\(index)[\"\(DiagramFormat.escaped(name))\"]") }
    if (declared + taken).contains(where: { $0.to == nil }) { lines.append("end0([\"end\"])") }
    lines += declared.map { "n\($0.from) --> \(node($0.to))" }
    lines += taken.map { "n\($0.from) -.-> \(node($0.to))" }
    return lines
  }

  private func name(_ index: Int?) -> String { index.map { names[$0] } ?? "end" }
  private func node(_ index: Int?) -> String { index.map { "n\($0)" } ?? "end0" }
}
