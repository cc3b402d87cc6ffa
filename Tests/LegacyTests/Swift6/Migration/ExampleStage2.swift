// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import LegacyStepwise
import StepwiseTesting

/// Stage 2: what is old uses the work through `legacy`.
@available(*, deprecated)
@MainActor
final class ExampleStage2: ExampleStage {
  typealias ProfileScreen = ExampleStage1.ProfileScreen

  let server = ExampleServer()
  let seen: Recorder<String>
  var shown: ProfileScreen?
  var profile: FlowStep<String, Bool>?

  init(telling seen: Recorder<String>) { self.seen = seen }

  func openProfile(of name: String) {
    let profile = FlowStep(String.self, Bool.self, identifier: "profile") { [unowned self] step in
      let screen = ProfileScreen(seen)
      shown = screen
      loadProfile(from: server).legacy.then { profile in screen.show(profile) }.start(step.content ?? "")
      return screen.results
    }
    profile.setCompletion { [seen] _, likes in seen.record("likes: \(likes ?? false)") }
    profile.content = name
    profile.start()
    self.profile = profile
  }

  func addFriend(_ name: String) {
    let friends = FriendList(seen: seen)
    loadProfile(from: server).legacy.then { profile in friends.add(profile) }.start(name)
  }

  func like() { shown?.results.complete(true) }
}
