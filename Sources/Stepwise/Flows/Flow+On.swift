// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Flow {
  /// Says what follows the answer of a step; what was said before about it no longer holds.
  ///
  /// - Parameters:
  ///   - step: The step.
  ///   - targets: The steps that may follow, for pictures and for `FlowExplorer`.
  ///   - route: Takes the result, and the step as it was asked. What it throws fails the flow.
  /// - Returns: A new flow; this one is unchanged.
  public func on<Content, Result>(
    _ step: FlowStep<Content, Result>,
    leadsTo targets: [AnyFlowStep] = [],
    _ route: @escaping @MainActor (Result, FlowPresentedStep<Content, Result>) throws -> FlowTransition<Output>
  ) -> Flow {
    var definition = definition
    definition[step].targets = targets
    definition[step].onAnswer = { box in
      guard let result = (box as? Box<Result>)?.value else { throw FlowError(.wrongAnswer, step: step.name) }
      guard let presented = FlowPresentedStep(step) else { throw FlowError(.noContent, step: step.name) }
      return try route(result, presented)
    }
    return Flow(definition)
  }

  /// Says what follows when a step ends without an answer.
  ///
  /// - Parameters:
  ///   - step: The step.
  ///   - route: Takes the ending, and the step as it was asked; nil for what is usual. What it throws fails the flow.
  /// - Returns: A new flow; this one is unchanged.
  public func on<Content, Result>(
    _ step: FlowStep<Content, Result>,
    ended route: @escaping @MainActor (FlowEnding, FlowPresentedStep<Content, Result>) throws -> FlowTransition<Output>?
  ) -> Flow {
    var definition = definition
    definition[step].onEnding = { ending in
      guard let presented = FlowPresentedStep(step) else { return nil }
      return try route(ending, presented)
    }
    return Flow(definition)
  }
}
