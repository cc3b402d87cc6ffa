// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// The samples of the old FlowState's document, in the new spelling: the samples of Migration.md and of the README.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowSeedTests {
  struct UserProfile: Sendable, Equatable {
    var name: String

    @MainActor static var server = UserProfile(name: "Grace")

    @MainActor
    static func getUser(_ completion: @escaping @MainActor (UserProfile) -> Void) {
      Task { completion(server) }
    }

    @MainActor
    static func updateName(_ name: String, _ completion: @escaping @MainActor (UserProfile) -> Void) {
      server.name = name
      Task { completion(server) }
    }
  }

  enum UserProfileAction: Sendable {
    case editProfile, downloadProfile
  }

  class Screen {
    let title: String
    init(_ title: String) { self.title = title }
  }

  final class UserProfileScreen: Screen {
    let results: FlowStepHandler<UserProfile, UserProfileAction>
    init(_ results: FlowStepHandler<UserProfile, UserProfileAction>) {
      self.results = results
      super.init("profile")
    }
  }

  final class StringEntryScreen: Screen {
    let results: FlowStepHandler<String, String>
    init(_ results: FlowStepHandler<String, String>) {
      self.results = results
      super.init("entry")
    }
  }

  final class LoadingScreen<Content>: Screen {
    let results: FlowStepHandler<Content, UserProfile>
    init(_ results: FlowStepHandler<Content, UserProfile>) {
      self.results = results
      super.init("loading")
    }
  }

  let navigator = InMemoryNavigator<Screen>()

  @Test func `The profile flow is presented`() async throws {
    let navigator = navigator
    let user = UserProfile(name: "Ann")
    UserProfile.server = UserProfile(name: "Grace")

    let display = FlowStep<UserProfile, UserProfileAction>("Profile", .replace, on: navigator) { handler in
      UserProfileScreen(handler)
    }

    let network = FlowStep<Void, UserProfile>("User Profile Network", .present, on: navigator) { handler in
      UserProfile.getUser { newProfile in handler.complete(newProfile) }
      return LoadingScreen(handler)
    }

    let editName = FlowStep<String, String>("Edit Name", .push, on: navigator) { handler in
      StringEntryScreen(handler)
    }

    let updateName = FlowStep<String, UserProfile>("Update Profile Step", .present, on: navigator) { handler in
      UserProfile.updateName(handler.content) { newProfile in handler.complete(newProfile) }
      return LoadingScreen(handler)
    }

    let flow = Flow<Void>("profile flow", first: display, content: user)
      .on(display, leadsTo: [editName, network]) { action, step in
        switch action {
        case .editProfile: .next(editName, step.content.name)
        case .downloadProfile: .next(network)
        }
      }
      .on(network) { newProfile, _ in
        display.content = newProfile
        return .back
      }
      .on(editName, leadsTo: [updateName]) { newName, _ in .next(updateName, newName) }
      .on(updateName, leadsTo: [display]) { newProfile, _ in .next(display, newProfile) }

    let run = flow.start()
    let presented = Recorder<String>()
    let watching = Task {
      for await event in flow.events { if case .presented(let step) = event { presented.record(step) } }
    }
    await presented.elements(atLeast: 1)
    let first = try #require(navigator.visible as? UserProfileScreen)
    #expect(first.results.content == user)
    first.results.complete(.downloadProfile)
    await presented.elements(atLeast: 3)
    let second = try #require(navigator.visible as? UserProfileScreen)
    #expect(second.results.content.name == "Grace")
    #expect(first.results.content.name == "Grace")
    second.results.complete(.editProfile)
    await presented.elements(atLeast: 4)
    let entry = try #require(navigator.visible as? StringEntryScreen)
    #expect(entry.results.content == "Grace")
    entry.results.complete("Ada")
    await presented.elements(atLeast: 6)
    let third = try #require(navigator.visible as? UserProfileScreen)
    #expect(third.results.content.name == "Ada")
    #expect(
      presented.elements == [
        "Profile", "User Profile Network", "Profile", "Edit Name", "Update Profile Step", "Profile",
      ]
    )
    third.results.back()
    await #expect(throws: FlowError.back) { try await run.value }
    await watching.value
    #expect(
      navigator.calls == [
        "replace", "present", "dismiss", "replace", "push", "present", "dismiss", "pop", "replace",
      ]
    )
  }

  @Test func `A flow whose next step is nil ends`() async throws {
    let first = FlowStep<Void, Int>("first") { handler in handler.complete(1) }
    let flow = Flow<Void>("flow", first: first).on(first) { _, _ in .finish }
    try await flow.run()
  }

  @Test func `Steps run concurrently`() async throws {
    let left = FlowStep<Void, Int>("left") { handler in handler.complete(1) }
    let right = FlowStep<Void, String>("right") { handler in handler.complete("two") }
    let both = FlowStep.all(left, right)
    let (number, text) = try await both.result()
    #expect(number == 1 && text == "two")
  }
}
