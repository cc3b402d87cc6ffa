// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

internal import LegacySupport
public import Stepwise

@available(*, deprecated)
extension FlowStep where Result: Sendable {
  /// The step as a `FlowStep` of Stepwise, for flows that have moved.
  ///
  /// Its completion is called with the result; what is next, though, the flow says, and `nextStep` is not started. No result
  /// is going back, and a screen that dies abandons the ask. Cancelling the ask leaves the old screen as it is.
  @available(*, deprecated, message: "Make it a FlowStep of Stepwise when its last old caller has moved")
  @preconcurrency
  public var modern: Stepwise.FlowStep<Content, Result> {
    Stepwise.FlowStep<Content, Result>(identifier) { [self] handler in
      handler.onContent { [self] content in self.content = content }
      _ = spawn { @MainActor [self] in
        switch await ask() {
        case .answered(let reply):
          _ = finish(reply.value)
          keep(handler)
          if let result = reply.value { handler.complete(result) } else { handler.back() }
        case .back, .abandoned: _ = giveUp()
        case .cancelled: handler.cancel()
        }
      }
    }
  }
}

extension Stepwise.FlowStep {
  /// The step as one of FlowState, for flows that have not moved: with a completion and a next step of its own.
  ///
  /// Whatever it ends with in the place of an answer is no result there.
  @available(*, deprecated, message: "Use the FlowStep itself when its last old caller has moved")
  @preconcurrency
  public var legacy: FlowStep<Content, Result> {
    let step = FlowStep<Content, Result>(identifier: name) { [self] _, ask in
      ask.onContent { [self] content in if let content { self.content = content } }
      let asking = spawn { @MainActor [self] in
        switch await self.ask() {
        case .answered(let result): ask.complete(Reply(result))
        case .back, .abandoned: ask.complete(Reply(nil))
        case .cancelled: if Task.isCancelled { ask.cancel() } else { ask.complete(Reply(nil)) }
        }
      }
      return { asking.cancel() }
    }
    step.content = content
    return step
  }
}

extension Flow {
  /// The flow as a step of FlowState, for flows that have not moved: its output is the result.
  ///
  /// Whatever it ends with in the place of an output is no result there.
  @available(*, deprecated, message: "Use the Flow itself when its last old caller has moved")
  @preconcurrency
  public var legacy: FlowStep<Void, Output> { Stepwise.FlowStep<Void, Output>(flow: self).legacy }
}
