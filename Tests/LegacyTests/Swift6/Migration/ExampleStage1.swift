// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import LegacyStepwise
import StepwiseTesting

/// Stage 1: the import lines have changed, and nothing else.
@available(*, deprecated)
@MainActor
final class ExampleStage1: ExampleStage {
  final class ProfileScreen: Sendable {
    let results = FlowStepHandler(String.self, Bool.self)
    let seen: Recorder<String>

    init(_ seen: Recorder<String>) { self.seen = seen }

    func show(_ profile: ExampleProfile) { seen.record("profile: \(profile.name)") }
  }

  let server = ExampleServer()
  let seen: Recorder<String>
  var shown: ProfileScreen?
  var profile: FlowStep<String, Bool>?

  init(telling seen: Recorder<String>) { self.seen = seen }

  func loadProfile() -> StepChain<String, ExampleProfile, String, ExampleProfile> {
    toStep { [server] (name: String) -> ExampleProfile in try server.profile(of: name) }
  }

  func openProfile(of name: String) {
    let profile = FlowStep(String.self, Bool.self, identifier: "profile") { [unowned self] step in
      let screen = ProfileScreen(seen)
      shown = screen
      loadProfile().then { profile in screen.show(profile) }.start(step.content ?? "")
      return screen.results
    }
    profile.setCompletion { [seen] _, likes in seen.record("likes: \(likes ?? false)") }
    profile.content = name
    profile.start()
    self.profile = profile
  }

  func addFriend(_ name: String) {
    let friends = FriendList(seen: seen)
    loadProfile().then { profile in friends.add(profile) }.start(name)
  }

  func like() { shown?.results.complete(true) }
}
