// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The progress of a run or a walk through a flow: its path, and the step that follows each result.
///
/// It neither presents steps nor suspends.
@MainActor
struct FlowCourse {
  let definition: FlowDefinition
  private(set) var path: FlowPath<AnyFlowStep, FlowLogEntry>
  /// The steps by name.
  private var named: [String: AnyFlowStep]

  init(_ definition: FlowDefinition, from first: AnyFlowStep? = nil) {
    self.definition = definition
    path = FlowPath(first: first ?? definition.first, keepsAll: definition.logging.keepsAll)
    named = Dictionary(definition.steps.map { ($0.name, $0) }) { first, _ in first }
    if let first { named[first.name] = first }
  }

  /// Runs the rule that `on` set for a step, and sets the content of the next step.
  ///
  /// This method does not change the course, so that the rule may read the flow.
  func move(after step: AnyFlowStep, _ end: FlowEnd) -> FlowMove {
    do {
      let move = try definition.move(after: step, end)
      if case .present(let next, _, let prepare) = move {
        guard named[next.name, default: next] === next else { throw FlowError(.duplicateName, step: next.name) }
        try next.checkFree()
        prepare()
        guard next.hasContent else { throw FlowError(.noContent, step: next.name) }
      }
      return move
    } catch {
      return .end(.ended(.failed(error)))
    }
  }

  /// Where a move leads.
  enum Progress {
    /// To a step; others have left the path, newest first.
    case step(AnyFlowStep, left: [AnyFlowStep])
    case end(FlowEnd)
  }

  /// Changes the path.
  mutating func follow(_ move: FlowMove, by entry: FlowLogEntry) -> Progress {
    switch move {
    case .present(let next, let isReplacing, _):
      named[next.name] = next
      return .step(next, left: isReplacing ? path.replace(with: next, by: entry) : path.next(next, by: entry))
    case .back:
      let left = path.back(by: entry)
      return path.top.map { .step($0, left: left) } ?? .end(.ended(.back))
    case .end(let end):
      if case .answered = end { path.finish(by: entry) } else { path.fail(by: entry) }
      return .end(end)
    }
  }
}
