// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The turns that a flow's runs took, in the order in which they were taken first.
struct FlowEdges {
  struct Edge: Hashable {
    let from: AnyFlowStep
    /// Nil for the flow's end.
    let to: AnyFlowStep?
  }

  private(set) var all: [Edge] = []
  private var known: Set<Edge> = []

  mutating func insert(from: AnyFlowStep, to: AnyFlowStep?) {
    let edge = Edge(from: from, to: to)
    if known.insert(edge).inserted { all.append(edge) }
  }
}
