// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

// The samples of the doc comments on flows, compiled and not run.

private struct UserProfile: Sendable, Codable { var name: String }
private enum ProfileAction: String, Sendable, Codable { case edit, download }

private struct ProfileScreen {
  init(_ handler: FlowStepHandler<UserProfile, ProfileAction>) {}
}

private final class Screen {
  init(_ name: String, _ handler: FlowStepHandler<String, String>) {}
}

private func show(_ value: Any) {}
private func store(_ data: Data) async throws {}

@MainActor
private func flows(
  user: UserProfile,
  editName: FlowStep<String, String>,
  network: FlowStep<Void, UserProfile>
) async throws {
  let profile = FlowStep<UserProfile, ProfileAction>("profile") { handler in show(ProfileScreen(handler)) }
  let action = try await profile.result(for: user)
  show(action)

  let flow = Flow<Void>("profile flow", first: profile, content: user)
    .on(profile) { action, step in
      switch action {
      case .edit: .next(editName, step.content.name)
      case .download: .next(network)
      }
    }
    .on(network) { newProfile, _ in
      profile.content = newProfile
      return .back
    }
  try await flow.run()

  let report = FlowExplorer(flow)
    .answers(profile, .edit, .download)
    .answers(editName, "Ann")
    .explore()
  #expect(report.isSound, "\(report)")

  let navigator = InMemoryNavigator<Screen>()
  let edit = FlowStep<String, String>("edit", .push, on: navigator) { handler in Screen("edit", handler) }
  show(edit)
}

@MainActor
private func logs(flow: Flow<Int>) async throws {
  let saved = flow.saving { log in try await store(JSONEncoder().encode(log)) }
  show(saved)

  let data = try JSONEncoder().encode(flow.answers)
  let answers = try JSONDecoder().decode(FlowLog.self, from: data)
  let output = try await flow.replay(answers: answers)
  show(output)
}

private enum FileOpen: Progression {
  case read(URL), success(Data)

  func next() async throws -> FileOpen { .success(Data()) }
  var result: Data? { if case .success(let data) = self { data } else { nil } }
}

@MainActor
private func work() {
  let open = FlowStep("open", running: FileOpen.read)
  show(open)
}
