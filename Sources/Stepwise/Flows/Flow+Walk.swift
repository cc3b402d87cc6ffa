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
    var course = FlowCourse(definition, first: definition.first)
    for end in ends {
      guard let step = course.path.top else { return .left }
      do {
        switch try course.take(end, of: step).move {
        case .ask: break
        case .finish: return .finished
        case .leave: return .left
        case .cancel: return .cancelled
        }
      } catch {
        return .failed(error)
      }
    }
    guard let step = course.path.top else { return .left }
    return .at(step, state: course.path.steps.map(\.name) + [""] + definition.steps.map(\.contentText))
  }
}
