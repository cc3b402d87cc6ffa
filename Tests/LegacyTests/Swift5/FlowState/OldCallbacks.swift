// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import StepwiseTesting

/// Old code that a network callback runs, on any thread: it does not say that its types belong to the main actor.
@available(*, deprecated)
enum OldCallbacks {
  @MainActor
  static func profile(telling seen: Recorder<String>) -> FlowStep<String, Int> {
    let handler = FlowStepHandler(String.self, Int.self)
    handler.contentUpdateHandler = { text in seen.record(text ?? "nil") }
    return FlowStep(String.self, Int.self, identifier: "profile", { _ in handler })
  }

  @MainActor
  static func coordinator(
    of step: FlowStep<String, Int>,
    telling seen: Recorder<String>
  ) -> NavigationFlowCoordinator {
    let empty = FlowStep(Any.self, Any.self, identifier: "empty", { _ in nil }, { _, _ in seen.record("empty") })
    return NavigationFlowCoordinator(firstStep: ConcurentFlowStep(identifier: "both", steps: [step, empty]))
  }

  static func setContent(of step: FlowStep<String, Int>, telling seen: Recorder<String>) {
    step.content = "Bob"
    step.content = nil
    seen.record("set")
  }

  static func start(
    _ step: FlowStep<String, Int>,
    _ coordinator: NavigationFlowCoordinator,
    telling seen: Recorder<String>
  ) {
    step.content = "Ann"
    step.start()
    coordinator.start()
    seen.record("started")
  }
}
