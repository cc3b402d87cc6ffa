// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Where a flow stands after some answers.
package enum FlowPosition {
  /// Asking a step; the state tells positions apart: the path, and the contents of all steps.
  case at(AnyFlowStep, state: [String])
  case finished
  case left
  case cancelled
  case failed(any Error)
}

extension Flow {
  /// The steps that the flow was given by name.
  package var namedSteps: [AnyFlowStep] { definition.steps }

  /// Walks as a run would that is given these answers, without asking anybody; the contents are afterwards what they were.
  package func walk(_ ends: [FlowEnd]) -> FlowPosition {
    let restore = definition.steps.map { $0.savedContent() }
    defer { for restore in restore { restore() } }
    definition.prepareFirst()
    var course = FlowCourse<Output>(first: definition.first, definition.logging)
    for end in ends {
      guard let step = course.path.top else { return .left }
      do {
        let heading = try definition.heading(after: step, end)
        switch course.go(heading, by: FlowLogEntry(step: step.name, end: end)).move {
        case .ask: break
        case .finish: return .finished
        case .end(.back): return .left
        case .end(.cancelled): return .cancelled
        case .end(let ending): return .failed(ending.error(of: step.name))
        }
      } catch {
        return .failed(error)
      }
    }
    guard let step = course.path.top else { return .left }
    return .at(step, state: course.path.steps.map(\.name) + [""] + definition.steps.map(\.contentText))
  }
}
