// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import LegacyStepwise
import StepwiseTesting

/// Stage 3 in the other order: the flow has moved, and is given the old step through `modern`.
@available(*, deprecated)
@MainActor
final class ExampleStage3Flow: ExampleStage {
  typealias ProfileScreen = ExampleStage1.ProfileScreen

  let server = ExampleServer()
  let seen: Recorder<String>
  var shown: ProfileScreen?

  init(telling seen: Recorder<String>) { self.seen = seen }

  func openProfile(of name: String) {
    let profile = FlowStep(String.self, Bool.self, identifier: "profile") { [self] step in
      let screen = ProfileScreen(seen)
      shown = screen
      loadProfile(from: server).legacy.then { profile in screen.show(profile) }.start(step.content ?? "")
      return screen.results
    }
    showProfile(of: name, asking: profile.modern, telling: seen)
  }

  func addFriend(_ name: String) {
    let friends = FriendList(seen: seen)
    loadProfile(from: server).legacy.then { profile in friends.add(profile) }.start(name)
  }

  func like() { shown?.results.complete(true) }
}
