// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Where a flow goes after a step, when all that its definition says about that has been run.
@MainActor
enum FlowHeading<Output> {
  case next(AnyFlowStep)
  /// In the place of the one that was answered.
  case replace(AnyFlowStep)
  case back
  case finish(Output)
  /// The flow ends as the step did.
  case end(FlowEnding)
}

extension FlowDefinition {
  /// Where the ending of a step leads; the content of the step that is next is set.
  ///
  /// - Throws: what fails the flow.
  func heading(after step: AnyFlowStep, _ end: FlowEnd) throws -> FlowHeading<Output> {
    let link = self[step]
    switch end {
    case .answered(let box):
      guard step.takes(box) else { throw FlowError(.wrongAnswer, step: step.name) }
      if let onAnswer = link.onAnswer { return try heading(by: onAnswer(box)) }
      guard let output = output(of: box) else { throw FlowError(.unhandledResult, step: step.name) }
      return .finish(output)
    case .ended(let ending):
      if let transition = try link.onEnding?(ending) { return try heading(by: transition) }
      if case .back = ending { return .back }
      return .end(ending)
    }
  }

  private func heading(by transition: FlowTransition<Output>) throws -> FlowHeading<Output> {
    switch transition.kind {
    case .next(let step, let prepare):
      try enter(step, prepare)
      return .next(step)
    case .replace(let step, let prepare):
      try enter(step, prepare)
      return .replace(step)
    case .back: return .back
    case .finish(let output): return .finish(output)
    case .fail(let error): throw error
    }
  }

  private func enter(_ step: AnyFlowStep, _ prepare: @MainActor () -> Void) throws {
    try step.checkFree()
    prepare()
    guard step.hasContent else { throw FlowError(.noContent, step: step.name) }
  }
}
