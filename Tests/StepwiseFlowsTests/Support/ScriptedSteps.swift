// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting

/// What a scripted step does when it is presented.
enum Reply<Result: Sendable> {
  case complete(Result)
  case back
  /// Releases the handler.
  case drop
  case cancel(String?)
  /// Keeps the handler, and does nothing.
  case wait
}

/// Creates steps that follow a script, and records which were presented.
@MainActor
final class ScriptedSteps {
  /// Each presentation, as "name content", or "name" where there is no content.
  nonisolated let presented = Recorder<String>()
  /// The handlers of those that wait.
  private(set) var waiting: [AnyObject] = []

  /// A step with a script; when the script is used up, handlers are released.
  func step<Content, Result>(
    _ name: String,
    of type: Content.Type = Void.self,
    _ replies: Reply<Result>...
  ) -> FlowStep<Content, Result> {
    var script = replies[...]
    return FlowStep(name) { [unowned self] handler in
      presented.record(Content.self == Void.self ? name : "\(name) \(handler.content)")
      switch script.popFirst() {
      case .complete(let result): handler.complete(result)
      case .back: handler.back()
      case .cancel(let reason): handler.cancel(reason: reason)
      case .wait: waiting.append(handler)
      case .drop, nil: break
      }
    }
  }

  /// The newest handler that waits, if it is of these types.
  func handler<Content, Result>(_ step: FlowStep<Content, Result>) -> FlowStepHandler<Content, Result>? {
    waiting.last as? FlowStepHandler<Content, Result>
  }

  func release() { waiting = [] }
}
