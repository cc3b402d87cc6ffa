// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import StepwiseTesting

/// Old screens and steps, each of which says what happens to it.
@available(*, deprecated)
@MainActor
final class OldScreens {
  let seen: Recorder<String>
  /// The handlers of what is on the screen, by the step's name.
  var shown: [String: FlowStepHandler<String, Int>] = [:]

  init(telling seen: Recorder<String>) {
    self.seen = seen
  }

  /// A step that shows a screen, and says its result.
  func step(_ name: String, next: (any Startable)? = nil) -> FlowStep<String, Int> {
    let step = FlowStep(
      String.self,
      Int.self,
      identifier: name,
      { [unowned self] step in
        let handler = FlowStepHandler(String.self, Int.self)
        handler.contentUpdateHandler = { [seen] content in seen.record("\(name) shows \(content ?? "nothing")") }
        shown[name] = handler
        return handler
      }
    ) { [seen] step, result in
      seen.record("\(name) = \(result.map { "\($0)" } ?? "nil")")
    }
    step.nextStep = next
    return step
  }

  /// A step that only says that it was started.
  func after(_ name: String) -> FlowStep<Any, Any> {
    FlowStep(Any.self, Any.self, identifier: "after \(name)") { [seen] step in
      seen.record(step.identifier)
      return nil
    }
  }

  /// Lets the screen of a step die.
  func close(_ name: String) { shown[name] = nil }

  func complete(_ name: String, _ result: Int?) { shown[name]?.complete(result) }
}
