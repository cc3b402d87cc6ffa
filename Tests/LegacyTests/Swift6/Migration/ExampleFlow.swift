// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting

// Stage 4, or 3 in the other order: the flow has moved.

@MainActor
func showProfile(of name: String, asking profile: FlowStep<String, Bool>, telling seen: Recorder<String>) {
  let flow = Flow<Void>("show profile", first: profile, content: name).on(profile) { likes, _ in
    seen.record("likes: \(likes)")
    return .finish
  }
  flow.start()
}
