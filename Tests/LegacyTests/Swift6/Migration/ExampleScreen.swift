// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting

// Stage 3: the screen and its step have moved.

@MainActor
final class ExampleProfileScreen {
  let handler: FlowStepHandler<String, Bool>
  let seen: Recorder<String>

  init(_ handler: FlowStepHandler<String, Bool>, _ seen: Recorder<String>) {
    self.handler = handler
    self.seen = seen
  }

  func show(_ profile: ExampleProfile) { seen.record("profile: \(profile.name)") }
  func like() { handler.complete(true) }
}

@MainActor
func profileStep(
  from server: ExampleServer,
  telling seen: Recorder<String>,
  show: @escaping @MainActor (ExampleProfileScreen) -> Void
) -> FlowStep<String, Bool> {
  FlowStep("profile") { handler in
    let screen = ExampleProfileScreen(handler, seen)
    show(screen)
    loadProfile(from: server).then { @MainActor profile in screen.show(profile) }.start(handler.content)
  }
}
