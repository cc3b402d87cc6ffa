// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import StepwiseTracing

extension Flow {
  /// Returns a diagram of the flow: the transitions that `leadsTo` declares, and, dashed, those that its runs took.
  ///
  /// - Parameter format: The format of the diagram.
  /// - Returns: The diagram, in lines that end with a line break.
  public func describe(_ format: DiagramFormat = .text) -> String {
    format.text(of: Diagram(definition, taken: currentRun.taken))
  }
}

extension Diagram {
  /// Creates the diagram of a flow.
  @MainActor
  fileprivate init(_ definition: FlowDefinition, taken: FlowTurns) {
    self.init(isSequence: false)
    let declared = definition.steps.flatMap { step in
      let link = definition[step]
      let turns = link.targets.map { FlowTurns.Turn(from: step, to: $0) }
      return link.onAnswer == nil ? turns + [FlowTurns.Turn(from: step, to: nil)] : turns
    }
    let turns = declared + taken.all
    let steps = definition.steps + turns.flatMap { [$0.from, $0.to].compactMap(\.self) }
    var nodes: [AnyFlowStep?: Int] = [:]
    for step in steps where nodes[step] == nil { nodes[step] = add(step.name) }
    if turns.contains(where: { $0.to == nil }) { nodes[nil as AnyFlowStep?] = add("end", .end) }
    for (index, turn) in turns.enumerated() {
      guard let from = nodes[turn.from], let to = nodes[turn.to] else { continue }
      add(Edge(from: from, to: to, isDashed: index >= declared.count))
    }
  }
}
