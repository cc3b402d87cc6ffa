// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyFlowState
import StepwiseTesting
import Testing

/// What the text beside the samples of FlowState's README says, a test a sample.
///
/// The samples are in `ProfileFlow`, with
/// the list of edits.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowStateReadmeTests {
  let navigation = UINavigationController()

  /// The screen on top, when so many calls have been made.
  private func shown<Screen: UIViewController>(after count: Int) async throws -> Screen {
    await navigation.calls.elements(atLeast: count)
    return try #require(navigation.top as? Screen)
  }

  // "This first step will display a user profile view controller."
  @available(*, deprecated)
  @Test func `The profile is displayed`() async throws {
    let flow = ProfileFlow(navigation)
    flow.displayStep.content = UserProfile(name: "Ann")
    flow.displayStep.start()

    let profile: UserProfileViewController = try await shown(after: 1)
    profile.viewDidLoad()
    #expect(await profile.names.elements(atLeast: 1) == ["Ann"])
  }

  // "Set the new profile on the display step, which automatically updates its view controller. Dismiss the loading modal."
  @available(*, deprecated)
  @Test func `The profile is downloaded`() async throws {
    let flow = ProfileFlow(navigation)
    flow.displayStep.start()
    let profile: UserProfileViewController = try await shown(after: 1)
    profile.viewDidLoad()
    flow.networkStep.start()

    #expect(await navigation.calls.elements(atLeast: 3) == ["set", "present", "dismiss"])
    #expect(await profile.names.elements(atLeast: 2).suffix(1) == ["Grace"])
    #expect(navigation.presented == nil)
  }

  // "A step that allows the user to edit their name."
  @available(*, deprecated)
  @Test func `The name is edited`() async throws {
    let flow = ProfileFlow(navigation)
    flow.editNameStep.content = "Ann"
    flow.editNameStep.start()

    let entry: StringEntryViewController = try await shown(after: 1)
    entry.viewDidLoad()
    #expect(await entry.texts.elements(atLeast: 1) == ["Ann"])
  }

  // "A network call that updates the username and returns the updated User Profile."
  @available(*, deprecated)
  @Test func `The name is updated`() async throws {
    let flow = ProfileFlow(navigation)
    flow.updateNameStep.content = "Ada"
    flow.updateNameStep.start()

    #expect(await navigation.calls.elements(atLeast: 2) == ["present", "dismiss"])
    #expect(flow.displayStep.content == UserProfile(name: "Ada"))
  }

  // "Now lets link the editNameStep to the updateNameStep"; "step.nextStep = nil" without a name.
  @available(*, deprecated)
  @Test(arguments: [nil, "Ada"]) func `The steps are linked`(name: String?) async throws {
    let flow = ProfileFlow(navigation)
    flow.editNameStep.start()
    let entry: StringEntryViewController = try await shown(after: 1)
    entry.enter(name)

    if let name {
      #expect(await navigation.calls.elements(atLeast: 3) == ["push", "present", "dismiss"])
      #expect(flow.displayStep.content == UserProfile(name: name))
    } else {
      await Turns.pass()
      #expect(navigation.calls.elements == ["push"])
    }
  }

  // "Switch between its results." Edited, downloaded, edited again: the profile stays on the screen all the while.
  @available(*, deprecated)
  @Test func `The flow switches over the results`() async throws {
    let flow = ProfileFlow(navigation)
    flow.displayStep.content = UserProfile(name: "Ann")
    flow.displayStep.start()
    let profile: UserProfileViewController = try await shown(after: 1)
    profile.viewDidLoad()

    profile.pressEdit()
    let entry: StringEntryViewController = try await shown(after: 2)
    entry.viewDidLoad()
    #expect(await entry.texts.elements(atLeast: 1) == ["Ann"])
    entry.enter("Ada")
    await navigation.calls.elements(atLeast: 4)
    #expect(await profile.names.elements(atLeast: 2) == ["Ann", "Ada"])
    navigation.popViewController(animated: true)
    await Turns.pass()

    profile.pressDownload()
    #expect(
      await navigation.calls.elements(atLeast: 6) == ["set", "push", "present", "dismiss", "present", "dismiss"]
    )
    #expect(profile.names.elements == ["Ann", "Ada", "Grace"])
    await Turns.pass()

    profile.pressEdit()
    let second: StringEntryViewController = try await shown(after: 7)
    second.viewDidLoad()
    #expect(await second.texts.elements(atLeast: 1) == ["Grace"])
  }
}

/// Lets what is due on the main actor be done.
@MainActor
enum Turns {
  static func pass() async {
    for _ in 0..<100 { await Task.yield() }
  }
}
