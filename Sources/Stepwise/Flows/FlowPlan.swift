// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The steps of a flow and the transitions between them: all that another module can read of a flow.
package struct FlowPlan {
  package struct Turn {
    package let from: Int
    /// Nil for the end of the flow.
    package let to: Int?
    /// Whether a run took it, and no step declares it.
    package let isTaken: Bool
  }

  package fileprivate(set) var steps: [String] = []
  package fileprivate(set) var turns: [Turn] = []
}

extension Flow {
  package var plan: FlowPlan {
    let declared = definition.steps.flatMap { step in
      let link = definition[step]
      let turns = link.targets.map { FlowTurns.Turn(from: step, to: $0) }
      return link.onAnswer == nil ? turns + [FlowTurns.Turn(from: step, to: nil)] : turns
    }
    let turns = declared + currentRun.taken.all
    var plan = FlowPlan()
    var positions: [AnyFlowStep: Int] = [:]
    for step in definition.steps + turns.flatMap({ [$0.from, $0.to].compactMap(\.self) }) where positions[step] == nil {
      positions[step] = plan.steps.count
      plan.steps.append(step.name)
    }
    for (index, turn) in turns.enumerated() {
      guard let from = positions[turn.from] else { continue }
      plan.turns.append(
        FlowPlan.Turn(from: from, to: turn.to.flatMap { positions[$0] }, isTaken: index >= declared.count)
      )
    }
    return plan
  }
}
