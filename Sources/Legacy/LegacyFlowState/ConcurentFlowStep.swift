// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Starts several steps; when each of them has started its next step, the next step of this one is started.
@available(*, deprecated, message: "Use FlowStep.all(a, b), whose answer has all results")
@preconcurrency
@MainActor
public final class ConcurentFlowStep: Startable {
  /// What the step is called.
  @available(*, deprecated, message: "Use name of FlowStep")
  public let identifier: String

  /// What is started when all steps have been completed; nil ends the flow.
  @available(*, deprecated, message: "Use on(_:) of Flow, and return .next(step, content) or .finish")
  public var nextStep: (any Startable)?

  private let steps: [any Startable]
  private var completed = 0

  /// Creates a step of several.
  ///
  /// - Parameters:
  ///   - identifier: What it is called.
  ///   - steps: The steps. Each one's `nextStep` is replaced when this step is started.
  @available(*, deprecated, message: "Use FlowStep.all(a, b), or FlowStep.all(steps) for steps of one kind")
  public required init(identifier: String, steps: [any Startable]) {
    self.identifier = identifier
    self.steps = steps
  }

  /// Starts the steps, in their order, before this returns.
  ///
  /// A step of your own counts when it starts its `nextStep`. It has to be a class: the `nextStep` of a structure is
  /// set in a copy.
  @available(*, deprecated, message: "Use `try await step.result()`, or a Flow")
  public func start() {
    completed = 0
    for var step in steps {
      step.nextStep = FlowStep(
        Any.self,
        Any.self,
        identifier: "Concurrent Completion",
        { [weak self] _ in
          self?.completed += 1
          return nil
        },
        { [weak self] _, _ in self?.completeIfAllAre() }
      )
    }
    for step in steps { step.start() }
  }

  private func completeIfAllAre() {
    guard completed == steps.count else { return }
    completed = 0
    nextStep?.start()
  }
}
