// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFlows
import StepwiseTesting
import Testing

/// One screen of a flow in a terminal.
final class TerminalPage {
  let text: String
  let goBack: @MainActor () -> Void

  init(_ text: String, goBack: @escaping @MainActor () -> Void) {
    self.text = text
    self.goBack = goBack
  }
}

/// Hosts a flow in a terminal.
@MainActor
final class TerminalHost: FlowNavigator {
  private(set) var pages: [TerminalPage] = []

  func push(_ page: TerminalPage) { pages.append(page) }

  func replace(_ page: TerminalPage?, with newPage: TerminalPage) {
    let old = page ?? pages.last
    guard let index = pages.firstIndex(where: { $0 === old }) else { return push(newPage) }
    pages[index] = newPage
  }

  func pop(_ page: TerminalPage) { pages.removeAll { $0 === page } }
  func present(_ page: TerminalPage) { push(page) }
  func dismiss(_ page: TerminalPage) { pop(page) }

  /// Handles a command such as `b 3`.
  func type(_ line: String) {
    guard line.hasPrefix("b "), let count = Int(line.dropFirst(2)) else { return }
    for page in pages.suffix(count).reversed() { page.goBack() }
  }
}

/// The samples on flows of the README and of the article.
@Suite(.timeLimit(.minutes(5)))
@MainActor
struct FlowArticleTests {
  struct UserProfile: Sendable, Codable, Equatable {
    var name: String
  }

  enum ProfileAction: String, Sendable, Codable {
    case edit, close
  }

  struct ProfileScreen {
    let handler: FlowStepHandler<UserProfile, ProfileAction>
    init(_ handler: FlowStepHandler<UserProfile, ProfileAction>) { self.handler = handler }
  }

  struct NameScreen {
    let handler: FlowStepHandler<String, String>
    init(_ handler: FlowStepHandler<String, String>) { self.handler = handler }
  }

  let user = UserProfile(name: "Grace")

  private func withFlow(
    _ body: (
      Flow<Void>, FlowStep<UserProfile, ProfileAction>, FlowStep<String, String>, FlowStep<String, UserProfile>
    ) async throws -> Void
  ) async throws -> [String] {
    let shown = Recorder<String>()
    func show(_ screen: ProfileScreen) {
      shown.record("profile \(screen.handler.content.name)")
      screen.handler.complete(screen.handler.content == user ? .edit : .close)
    }
    func show(_ screen: NameScreen) {
      shown.record("name \(screen.handler.content)")
      screen.handler.complete("Ada")
    }
    let updateName = Chain("update") { (name: String) in UserProfile(name: name) }
    let profile = FlowStep<UserProfile, ProfileAction>("profile") { handler in show(ProfileScreen(handler)) }
    let editName = FlowStep<String, String>("edit name") { handler in show(NameScreen(handler)) }
    let update = FlowStep("update", running: updateName)
    func run() async throws -> Flow<Void> {
      let flow = Flow<Void>("profile flow", first: profile, content: user)
        .on(profile, leadsTo: [editName]) { action, step in
          switch action {
          case .edit: .next(editName, step.content.name)
          case .close: .finish
          }
        }
        .on(editName, leadsTo: [update]) { name, _ in .next(update, name) }
        .on(update, leadsTo: [profile]) { newProfile, _ in .next(profile, newProfile) }
      try await flow.run()
      return flow
    }
    try await body(run(), profile, editName, update)
    return shown.elements
  }

  @Test func `A flow presents step after step`() async throws {
    let shown = try await withFlow { flow, profile, _, _ in
      #expect(flow.answers.map(\.step) == ["profile"])
      let action = try await profile.result(for: user)
      #expect(action == .edit)
    }
    #expect(shown == ["profile Grace", "name Grace", "profile Ada", "profile Grace"])
  }

  @Test func `A flow replays answers`() async throws {
    let shown = try await withFlow { flow, profile, editName, _ in
      try await flow.replay(answers: [.answer(profile, .edit), .answer(editName, "Ada")])
    }
    #expect(shown == ["profile Grace", "name Grace", "profile Ada", "profile Ada"])
  }

  @Test func `A flow stores answers`() async throws {
    _ = try await withFlow { flow, _, _, _ in
      let data = try JSONEncoder().encode(flow.answers)
      let answers = try JSONDecoder().decode(FlowLog.self, from: data)
      #expect(answers.map(\.step) == ["profile"])
      try await flow.replay(answers: answers)
    }
  }

  @Test func `A flow is explored`() async throws {
    _ = try await withFlow { flow, profile, editName, update in
      let report = FlowExplorer(flow)
        .answers(profile, .edit, .close)
        .answers(editName, "Ada")
        .answers(update, UserProfile(name: "Ada"))
        .explore()
      #expect(report.isSound, "\(report)")
    }
  }

  @Test func `A flow has hosts`() async throws {
    let controller = UINavigationController(nibName: nil, bundle: nil)
    let host = NavigationHost(controller)
    let first = FlowStep<String, String>("first", .push, on: host) { handler in NameViewController(handler) }
    let second = FlowStep<String, String>("second", .present, on: host) { handler in NameViewController(handler) }
    #expect([first.name, second.name] == ["first", "second"])

    struct NameView: View {
      let handler: FlowStepHandler<String, String>
      var body: some View { Text(handler.content) }
    }
    let stackHost = StackHost()
    let ask = FlowStep<String, String>("ask", .push, on: stackHost) { handler in
      FlowPage(NameView(handler: handler)) { handler.back() }
    }
    async let answer = ask.ask("Ada")
    while stackHost.path.isEmpty { await Task.yield() }
    stackHost.path.removeLast()
    #expect(await answer == .back)
  }

  @Test func `A host in a terminal goes back over several screens`() async throws {
    let host = TerminalHost()
    let made = Recorder<String>()
    let steps = ["a", "b", "c"].map { name in
      FlowStep<Void, Void>(name, .push, on: host) { handler in
        made.record(name)
        return TerminalPage(name) { handler.back() }
      }
    }
    let log = Recorder<Int>()
    let flow = Flow<Void>("flow", first: steps[0]).on(steps[0]) { _, _ in .next(steps[1]) }
      .on(steps[1]) { _, _ in .next(steps[2]) }.saving { answers in log.record(answers.count) }
    let run = flow.start(replaying: [.answer(steps[0], ()), .answer(steps[1], ())])
    await made.elements(atLeast: 3)
    host.type("b 2")
    await made.elements(atLeast: 4)
    #expect(host.pages.map(\.text) == ["a"] && log.elements == [0])
    host.type("b 1")
    await #expect(throws: FlowError.back) { try await run.value }
    #expect(host.pages.isEmpty)
  }
}
