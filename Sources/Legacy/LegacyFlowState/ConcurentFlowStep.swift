// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise

/// Starts several steps at once; it has ended when all of them have, each with what follows it.
@available(*, deprecated, message: "Use FlowStep.all(a, b), whose answer has all results")
@preconcurrency
@MainActor
public final class ConcurentFlowStep: Followed {
  /// What the step is called.
  @available(*, deprecated, renamed: "name")
  public nonisolated let identifier: String

  /// What is started when all steps have ended; nil ends the flow.
  @available(*, deprecated, message: "Use on(_:) of Flow, and return .next(step, content) or .finish")
  public var nextStep: (any Startable)?

  /// The results of the steps, in their order; nil for one that had none.
  @available(*, deprecated, message: "Take the answer of FlowStep.all(a, b), which is typed")
  public private(set) var results: [Any?]

  private let steps: [any Startable]
  private var completion: (@MainActor (ConcurentFlowStep, [Any?]) -> Void)?

  /// Creates a step of several.
  ///
  /// - Parameters:
  ///   - identifier: What it is called.
  ///   - steps: The steps. What is next after each is left as it is.
  @available(*, deprecated, message: "Use FlowStep.all(a, b), or FlowStep.all(steps) for steps of one kind")
  public init(identifier: String, steps: [any Startable]) {
    self.identifier = identifier
    self.steps = steps
    results = steps.map { _ in nil }
  }

  /// Sets what is told the results, and says what is next; it takes the place of the one before.
  @available(*, deprecated, message: "Use on(_:) of Flow")
  @preconcurrency
  public func setCompletion(_ completion: @escaping @MainActor (ConcurentFlowStep, [Any?]) -> Void) {
    self.completion = completion
  }

  /// Starts all steps, in the main actor's next turn, and what is next after them.
  @available(*, deprecated, message: "Use `try await step.result()`, or a Flow")
  public func start() { Course.start(self) }

  var latestResult: Any? { results }

  func runOnce(in course: Course) async -> (any Startable)? {
    let lines = steps.map { step in spawn { @MainActor in await course.follow(from: step) } }
    for line in lines { await line.value }
    results = steps.map { ($0 as? any Followed)?.latestResult }
    completion?(self, results)
    return nextStep
  }

  func reopen() {}
}
