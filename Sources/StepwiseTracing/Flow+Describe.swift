// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

extension Flow {
  /// Returns a diagram of the flow: the transitions that `leadsTo` declares, and, dashed, those that its runs took.
  ///
  /// - Parameter format: The format of the diagram.
  /// - Returns: The diagram, in lines that end with a line break.
  public func describe(_ format: DiagramFormat = .text) -> String {
    let plan = plan
    var diagram = Diagram(isSequence: false)
    let nodes = plan.steps.map { diagram.add($0) }
    let end = plan.turns.contains { $0.to == nil } ? diagram.add("end", .end) : nil
    for turn in plan.turns {
      guard let to = turn.to.map({ nodes[$0] }) ?? end else { continue }
      diagram.add(Diagram.Edge(from: nodes[turn.from], to: to, isDashed: turn.isTaken))
    }
    return format.text(of: diagram)
  }
}
