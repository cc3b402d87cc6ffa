// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The progress of a run or a walk through a flow: its path, and the step that follows each result.
///
/// It neither presents steps nor suspends.
@MainActor
struct FlowCourse {
  let definition: FlowDefinition
  /// The step to start with instead of the first one.
  private let start: AnyFlowStep?
  private(set) var path: FlowPath<AnyFlowStep, FlowLogEntry>
  /// The steps by name.
  private var named: [String: AnyFlowStep]

  init(_ definition: FlowDefinition, startingAt start: AnyFlowStep? = nil) {
    self.definition = definition
    self.start = start
    path = FlowPath(first: start ?? definition.first, keepsAll: definition.logging.keepsAll)
    named = Dictionary(definition.steps.map { ($0.name, $0) }) { first, _ in first }
    if let start { named[start.name] = start }
  }

  /// Sets the initial content, unless another flow presents the first step with its own content.
  ///
  /// - Throws: ``FlowError/duplicateName`` when two of the steps have one name; ``FlowError/alreadyPresented`` when the
  ///   step to begin with is being presented.
  func prepare() throws {
    for step in definition.steps where named[step.name] !== step { throw FlowError(.duplicateName, step: step.name) }
    let first = definition.first
    try (start ?? first).checkFree()
    // The caller has set the content of the step that it starts with.
    if start == nil || (start === first ? !first.hasContent : first.isFree) { definition.prepareFirst() }
  }

  /// Runs the rule that `on` set for a step, and sets the content of the next step.
  ///
  /// This method does not change the course, so that the rule may read the flow.
  ///
  /// - Returns: The move on this path: back from the first step ends the flow, and a step on the path replaces nothing.
  func move(after step: AnyFlowStep, _ end: FlowEnd) -> FlowMove {
    do {
      switch try definition.move(after: step, end) {
      case .present(let next, let isReplacing, let prepare):
        guard named[next.name, default: next] === next else { throw FlowError(.duplicateName, step: next.name) }
        try next.checkFree()
        prepare()
        guard next.hasContent else { throw FlowError(.noContent, step: next.name) }
        return .present(next, isReplacing: isReplacing && !path.contains(next), prepare: prepare)
      case .back where path.steps.count == 1: return .end(.ended(.back))
      case let move: return move
      }
    } catch {
      return .end(.ended(.failed(error)))
    }
  }

  /// Changes the path.
  ///
  /// - Returns: The steps that left the path, newest first.
  @discardableResult
  mutating func follow(_ move: FlowMove, by entry: FlowLogEntry) -> [AnyFlowStep] {
    switch move {
    case .present(let next, let isReplacing, _):
      named[next.name] = next
      return isReplacing ? path.replace(with: next, by: entry) : path.next(next, by: entry)
    case .back, .end(.ended(.back)): return path.back(by: entry)
    case .end(.answered): path.finish(by: entry)
    case .end(.ended): path.fail(by: entry)
    }
    return []
  }
}
