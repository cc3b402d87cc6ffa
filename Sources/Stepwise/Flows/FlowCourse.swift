// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One way through a flow: which step is asked next, given how the last one ended.
///
/// It asks nobody and waits for nothing.
@MainActor
struct FlowCourse<Output: Sendable> {
  enum Move {
    /// Ask the step at the path's end.
    case ask
    case finish(Output)
    /// The flow has gone back from its first step.
    case leave
    case cancel(Cancellation)
  }

  struct Turn {
    let move: Move
    /// The steps that left the path, newest first.
    var left: [AnyFlowStep] = []
    /// Whether the step that is asked takes the place of the one that was.
    var isReplacement = false
  }

  let definition: FlowDefinition<Output>
  private(set) var path: FlowPath<AnyFlowStep, FlowLogEntry>

  init(_ definition: FlowDefinition<Output>, first: AnyFlowStep) {
    self.definition = definition
    path = FlowPath(first: first, keepsAll: definition.logging.keepsAll)
  }

  /// - Throws: what fails the flow.
  mutating func take(_ end: FlowEnd, of step: AnyFlowStep) throws -> Turn {
    let entry = FlowLogEntry(step: step.name, end: end)
    do {
      guard let transition = try transition(after: step, end) else {
        guard case .ended(.cancelled(let cancellation)) = end else { return try goBack(by: entry) }
        path.fail(by: entry)
        return Turn(move: .cancel(cancellation))
      }
      return try follow(transition, by: entry)
    } catch {
      path.fail(by: entry)
      throw error
    }
  }

  /// What the definition says; nil for going back and for cancelling.
  private func transition(after step: AnyFlowStep, _ end: FlowEnd) throws -> FlowTransition<Output>? {
    let link = definition[step]
    switch end {
    case .answered(let box):
      guard step.takes(box) else { throw FlowError(.wrongAnswer, step: step.name) }
      if let onAnswer = link.onAnswer { return try onAnswer(box) }
      guard let output = definition.output(of: box) else { throw FlowError(.unhandledResult, step: step.name) }
      return .finish(output)
    case .ended(let ending):
      if let transition = try link.onEnding?(ending) { return transition }
      switch ending {
      case .back, .cancelled: return nil
      case .abandoned: throw FlowError(.abandoned, step: step.name)
      case .failed(let error): throw error
      }
    }
  }

  private mutating func follow(_ transition: FlowTransition<Output>, by entry: FlowLogEntry) throws -> Turn {
    switch transition.kind {
    case .next(let next, let prepare):
      prepare()
      try check(next)
      return Turn(move: .ask, left: path.next(next, by: entry))
    case .replace(let next, let prepare):
      prepare()
      try check(next)
      let isReplacement = !path.contains(next)
      return Turn(move: .ask, left: path.replace(with: next, by: entry), isReplacement: isReplacement)
    case .back:
      return try goBack(by: entry)
    case .finish(let output):
      path.finish(by: entry)
      return Turn(move: .finish(output))
    case .fail(let error):
      throw error
    }
  }

  private mutating func goBack(by entry: FlowLogEntry) throws -> Turn {
    let left = path.back(by: entry)
    return Turn(move: path.top == nil ? .leave : .ask, left: left)
  }

  private func check(_ step: AnyFlowStep) throws {
    guard step.hasContent else { throw FlowError(.noContent, step: step.name) }
  }
}
