// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The steps that a walk has come through, and the turns between them.
struct FlowMap {
  private var names: [String] = []
  private var reached: Set<String> = []
  private var turns: [String: Set<String>] = [:]
  /// The steps from which an answer ends the flow.
  private var exits: Set<String> = []
  private var unhandled: [FlowExploration.Unhandled] = []

  mutating func add(_ name: String) {
    if !names.contains(name) { names.append(name) }
  }

  mutating func reach(_ name: String) {
    add(name)
    reached.insert(name)
  }

  mutating func note(_ position: FlowPosition, after step: String, _ end: FlowEnd) {
    switch position {
    case .at(let next, _):
      reach(next.name)
      turns[step, default: []].insert(next.name)
    case .failed(let error as FlowError) where [.unhandledResult, .noContent].contains(error):
      let result = if case .answered(let box) = end { "\(box.any)" } else { "\(end)" }
      guard !unhandled.contains(where: { $0.step == step && $0.result == result }) else { return }
      unhandled.append(FlowExploration.Unhandled(step: step, result: result, error: error))
    case .finished, .left, .cancelled, .failed:
      exits.insert(step)
    }
  }

  func exploration(isComplete: Bool) -> FlowExploration {
    let deadEnds = names.filter { reached.contains($0) && !exits.contains($0) && (turns[$0] ?? []).isEmpty }
    return FlowExploration(
      reached: names.filter(reached.contains),
      unreached: names.filter { !reached.contains($0) },
      deadEnds: deadEnds,
      loops: loops(stoppingAt: exits.union(deadEnds)),
      unhandled: unhandled,
      isComplete: isComplete
    )
  }

  /// Circles from which none of the stops can be reached.
  private func loops(stoppingAt stops: Set<String>) -> [[String]] {
    let reach = Dictionary(uniqueKeysWithValues: names.map { ($0, reachable(from: $0)) })
    var told: Set<String> = []
    return names.compactMap { name in
      guard !told.contains(name), !stops.contains(name), let ahead = reach[name] else { return nil }
      guard ahead.contains(name), ahead.isDisjoint(with: stops) else { return nil }
      let circle = names.filter { ahead.contains($0) && reach[$0]?.contains(name) == true }
      // One that leads into a further circle is told with that one.
      guard ahead.isSubset(of: circle) else { return nil }
      told.formUnion(circle)
      return circle
    }
  }

  /// The steps that one or more turns lead to.
  private func reachable(from name: String) -> Set<String> {
    var found: Set<String> = []
    var waiting = Array(turns[name] ?? [])
    while let next = waiting.popLast() {
      if found.insert(next).inserted { waiting += turns[next] ?? [] }
    }
    return found
  }
}
