// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

extension Flow {
  /// Sets what follows the result of a step; replaces an earlier rule for the step.
  ///
  /// - Parameters:
  ///   - step: The step.
  ///   - targets: The steps that may follow, for diagrams and for `FlowExplorer`.
  ///   - route: Receives the result and the presented step. An error that it throws fails the flow.
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
      return try route(result, presented).move
    }
    return Flow(definition)
  }

  /// Sets what follows when a step ends without a result.
  ///
  /// - Parameters:
  ///   - step: The step.
  ///   - route: Receives the ending and the presented step; returns nil for the default behaviour. An error that it
  ///     throws fails the flow.
  /// - Returns: A new flow; this one is unchanged.
  public func on<Content, Result>(
    _ step: FlowStep<Content, Result>,
    ended route: @escaping @MainActor (FlowEnding, FlowPresentedStep<Content, Result>) throws -> FlowTransition<Output>?
  ) -> Flow {
    var definition = definition
    definition[step].onEnding = { ending in
      guard let presented = FlowPresentedStep(step) else { return nil }
      return try route(ending, presented)?.move
    }
    return Flow(definition)
  }
}
