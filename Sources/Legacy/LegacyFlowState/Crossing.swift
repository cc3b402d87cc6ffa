// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import Stepwise
public import StepwiseFlows

@available(*, deprecated)
extension FlowStep where Result: Sendable {
  /// The step as a `FlowStep` of Stepwise, for flows that have moved.
  ///
  /// Its completion is called with the result; what is next, though, the flow says, and `nextStep` is not started. A
  /// result of nil is going back, and a screen that is released abandons the step. Cancelling the run leaves the old
  /// screen as it is.
  @available(*, deprecated, message: "Make it a FlowStep of Stepwise when its last old caller has moved")
  @preconcurrency
  public var modern: StepwiseFlows.FlowStep<Content, Result> {
    StepwiseFlows.FlowStep<Content, Result>(identifier) { [self] handler in
      handler.onContent { [weak self] content in self?.content = content }
      start { result in if let result { handler.complete(result) } else { handler.back() } }
    }
  }
}

extension StepwiseFlows.FlowStep {
  /// The step as one of FlowState, for flows that have not moved: with its own completion and next step.
  ///
  /// Whatever it ends with in place of an answer is a result of nil. Releasing the old step cancels this one's run.
  @available(*, deprecated, message: "Use the FlowStep itself when its last old caller has moved")
  @preconcurrency
  public var legacy: FlowStep<Content, Result> {
    let asking = Asking()
    let step = FlowStep<Content, Result>(Content.self, Result.self, identifier: name) { [self] _ in
      let old = FlowStepHandler(Content.self, Result.self)
      old.contentUpdateHandler = { [self] content in if let content { self.content = content } }
      asking.begin { [self] in
        switch await ask() {
        case .answered(let result): old.complete(result)
        case .back, .abandoned: old.complete(nil)
        case .cancelled: if !Task.isCancelled { old.complete(nil) }
        }
      }
      return old
    }
    step.content = content
    return step
  }
}

/// The run of a step that stands for an old one; it is cancelled when the old one is released or restarted.
@MainActor
private final class Asking {
  private var task: Task<Void, Never>?

  func begin(_ ask: @escaping @MainActor () async -> Void) {
    let previous = task
    previous?.cancel()
    task = spawn { @MainActor in
      await previous?.value
      guard !Task.isCancelled else { return }
      await ask()
    }
  }

  deinit { task?.cancel() }
}

extension Flow {
  /// The flow as a step of FlowState, for flows that have not moved: its output is the result.
  ///
  /// Whatever it ends with in the place of an output is no result there.
  @available(*, deprecated, message: "Use the Flow itself when its last old caller has moved")
  @preconcurrency
  public var legacy: FlowStep<Void, Output> { StepwiseFlows.FlowStep<Void, Output>(flow: self).legacy }
}
