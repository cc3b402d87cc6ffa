// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The progress of a run through a flow: its path, and the step that follows each result.
///
/// It neither presents steps nor suspends.
@MainActor
struct FlowCourse<Output: Sendable> {
  typealias Transition = FlowTransition<Output>.Kind

  let definition: FlowDefinition<Output>
  private(set) var path: FlowPath<AnyFlowStep, FlowLogEntry>
  /// The steps by name.
  private var named: [String: AnyFlowStep]

  init(_ definition: FlowDefinition<Output>, from first: AnyFlowStep? = nil) {
    self.definition = definition
    path = FlowPath(first: first ?? definition.first, keepsAll: definition.logging.keepsAll)
    named = Dictionary(definition.steps.map { ($0.name, $0) }) { first, _ in first }
    if let first { named[first.name] = first }
  }

  /// Runs the rule that `on` set for a step, and sets the content of the next step.
  ///
  /// This method does not change the course, so that the rule may read the flow.
  func transition(after step: AnyFlowStep, _ end: FlowEnd) -> Transition {
    do {
      let transition = try definition.transition(after: step, end)
      switch transition.kind {
      case .next(let next), .replace(let next):
        guard named[next.name, default: next] === next else { throw FlowError(.duplicateName, step: next.name) }
        try next.checkFree()
        transition.prepare()
        guard next.hasContent else { throw FlowError(.noContent, step: next.name) }
      case .back, .finish, .end: break
      }
      return transition.kind
    } catch {
      return .end(.failed(error))
    }
  }

  /// Changes the path.
  ///
  /// - Returns: The steps that left the path, newest first.
  mutating func follow(_ transition: Transition, by entry: FlowLogEntry) -> [AnyFlowStep] {
    switch transition {
    case .next(let next):
      named[next.name] = next
      return path.next(next, by: entry)
    case .replace(let next):
      named[next.name] = next
      return path.replace(with: next, by: entry)
    case .back:
      return path.back(by: entry)
    case .finish:
      path.finish(by: entry)
      return []
    case .end:
      path.fail(by: entry)
      return []
    }
  }

  /// How the flow has ended by a transition; nil when a step follows.
  func end(by transition: Transition) -> FlowEnd? {
    switch transition {
    case .next, .replace: nil
    case .back: path.top == nil ? .ended(.back) : nil
    case .finish(let output): .answered(Box(output))
    case .end(let ending): .ended(ending)
    }
  }
}
