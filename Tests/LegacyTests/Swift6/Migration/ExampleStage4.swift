// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

/// Stage 4: the flow and the neighbour have moved, and the old imports have gone.
@MainActor
final class ExampleStage4: ExampleStage {
  let server = ExampleServer()
  let seen: Recorder<String>
  var shown: ExampleProfileScreen?

  init(telling seen: Recorder<String>) { self.seen = seen }

  func openProfile(of name: String) {
    let profile = profileStep(from: server, telling: seen) { [self] screen in shown = screen }
    showProfile(of: name, asking: profile, telling: seen)
  }

  func addFriend(_ name: String) {
    let friends = FriendList(seen: seen)
    loadProfile(from: server).then { profile in friends.add(profile) }.start(name)
  }

  func like() { shown?.like() }
}
