// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows

/// The steps that a walk has visited, and the transitions between them.
@MainActor
struct FlowMap {
  private var steps: [AnyFlowStep] = []
  private var reached: Set<AnyFlowStep> = []
  private var turns: [AnyFlowStep: Set<AnyFlowStep>] = [:]
  /// The steps with an answer that ends the flow.
  private var exits: Set<AnyFlowStep> = []
  private var unhandled: [FlowExploration.Unhandled] = []

  mutating func add(_ step: AnyFlowStep) {
    if !steps.contains(step) { steps.append(step) }
  }

  mutating func enter(_ walk: FlowWalk) {
    for step in walk.steps + walk.named { add(step) }
    reached.formUnion(walk.steps)
    for (outer, inner) in zip(walk.steps, walk.steps.dropFirst()) { turns[outer, default: []].insert(inner) }
  }

  mutating func note(_ walk: FlowWalk, after step: AnyFlowStep, _ end: FlowEnd) {
    switch walk.end {
    case nil:
      enter(walk)
      if let next = walk.steps.last { turns[step, default: []].insert(next) }
    case .ended(.failed(let error as FlowError))
    where [.unhandledResult, .noContent, .duplicateName].contains(error):
      let result = if case .answered(let box) = end { "\(box.any)" } else { "\(end)" }
      guard !unhandled.contains(where: { $0.step == step.name && $0.result == result }) else { return }
      unhandled.append(FlowExploration.Unhandled(step: step.name, result: result, error: error))
    default:
      exits.insert(step)
    }
  }

  func exploration(isComplete: Bool) -> FlowExploration {
    let deadEnds = steps.filter { reached.contains($0) && !exits.contains($0) && (turns[$0] ?? []).isEmpty }
    return FlowExploration(
      reached: names(of: steps.filter(reached.contains)),
      unreached: names(of: steps.filter { !reached.contains($0) }),
      deadEnds: names(of: deadEnds),
      loops: loops(stoppingAt: exits.union(deadEnds)).map(names),
      unhandled: unhandled,
      isComplete: isComplete
    )
  }

  private func names(of steps: [AnyFlowStep]) -> [String] { steps.map(\.name) }

  /// Returns the cycles from which none of the stops can be reached.
  private func loops(stoppingAt stops: Set<AnyFlowStep>) -> [[AnyFlowStep]] {
    let reach = Dictionary(uniqueKeysWithValues: steps.map { ($0, reachable(from: $0)) })
    var reported: Set<AnyFlowStep> = []
    return steps.compactMap { step in
      guard !reported.contains(step), !stops.contains(step), let ahead = reach[step] else { return nil }
      guard ahead.contains(step), ahead.isDisjoint(with: stops) else { return nil }
      let circle = steps.filter { ahead.contains($0) && reach[$0]?.contains(step) == true }
      // A cycle that leads into another one is reported with that one.
      guard ahead.isSubset(of: circle) else { return nil }
      reported.formUnion(circle)
      return circle
    }
  }

  /// Returns the steps that one or more transitions lead to.
  private func reachable(from step: AnyFlowStep) -> Set<AnyFlowStep> {
    var found: Set<AnyFlowStep> = []
    var waiting = Array(turns[step] ?? [])
    while let next = waiting.popLast() {
      if found.insert(next).inserted { waiting += turns[next] ?? [] }
    }
    return found
  }
}
