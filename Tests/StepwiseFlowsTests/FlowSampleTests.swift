// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// The flow of the documentation, with types around it.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowSampleTests {
  struct UserProfile: Sendable, Equatable {
    var name: String
  }

  enum ProfileAction: Sendable {
    case edit, download
  }

  @MainActor
  final class ProfileScreen {
    let handler: FlowStepHandler<UserProfile, ProfileAction>
    var shown: [UserProfile] = []

    init(_ handler: FlowStepHandler<UserProfile, ProfileAction>) {
      self.handler = handler
      handler.onContent { [weak self] content in self?.shown.append(content) }
    }
  }

  @MainActor
  final class Window {
    var screens: [ProfileScreen] = []
    var shown = Recorder<String>()

    func show(_ screen: ProfileScreen) {
      screens.append(screen)
      shown.record(screen.handler.content.name)
    }
  }

  let window = Window()
  let user = UserProfile(name: "Ann")

  @Test func `The sample flow works`() async throws {
    let window = window
    let show = window.show
    let editName = FlowStep<String, String>("edit name") { handler in handler.complete(handler.content + "a") }
    let network = FlowStep<Void, UserProfile>("network") { handler in handler.complete(UserProfile(name: "Bob")) }

    let profile = FlowStep<UserProfile, ProfileAction>("profile") { handler in show(ProfileScreen(handler)) }
    let flow = Flow<Void>("profile flow", first: profile, content: user)
      .on(profile) { action, step in
        switch action {
        case .edit: .next(editName, step.content.name);
        case .download: .next(network)
        }
      }
      .on(network) { newProfile, _ in
        profile.content = newProfile; return .back
      }

    async let end: Void = flow.run()
    await window.shown.elements(atLeast: 1)
    #expect(flow.current == profile)
    window.screens[0].handler.complete(.download)
    await window.shown.elements(atLeast: 2)
    #expect(window.shown.elements == ["Ann", "Bob"])
    #expect(window.screens[0].shown.map(\.name) == ["Ann", "Bob"])
    window.screens[1].handler.complete(.edit)
    try await end
    #expect(flow.current == nil)
    #expect(flow.answers.map(\.step) == ["profile", "edit name"])
  }

  @Test func `A step can be awaited alone`() async throws {
    let profile = FlowStep<UserProfile, ProfileAction>("profile") { handler in handler.complete(.edit) }
    let action = try await profile.result(for: user)
    #expect(action == .edit)
    #expect(profile.content == user)
  }
}
