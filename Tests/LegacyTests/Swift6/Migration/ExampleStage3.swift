// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import LegacyStepwise
import StepwiseTesting

/// Stage 3: the flow and the neighbour are old still, and use what has moved through `legacy`.
@available(*, deprecated)
@MainActor
final class ExampleStage3: ExampleStage {
  let server = ExampleServer()
  let seen: Recorder<String>
  var shown: ExampleProfileScreen?
  var profile: FlowStep<String, Bool>?

  init(telling seen: Recorder<String>) { self.seen = seen }

  func openProfile(of name: String) {
    let profile = profileStep(from: server, telling: seen) { [unowned self] screen in shown = screen }.legacy
    profile.setCompletion { [seen] _, likes in seen.record("likes: \(likes ?? false)") }
    profile.content = name
    profile.start()
    self.profile = profile
  }

  func addFriend(_ name: String) {
    let friends = FriendList(seen: seen)
    loadProfile(from: server).legacy.then { profile in friends.add(profile) }.start(name)
  }

  func like() { shown?.like() }
}
