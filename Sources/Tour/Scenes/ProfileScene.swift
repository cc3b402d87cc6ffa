// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Foundation
import Loopback
import Stepwise
import StepwiseFlows
import StepwiseHTTP
import StepwiseTracing

extension Scene {
  /// A flow of screens in the terminal, driven by the user, or by a script without one.
  static let profile = Scene("profile", "a flow in the terminal: edit, download, go back") { _ in
    Console.writeLine(
      "A flow, which knows no screens, and a terminal that shows them. A server on this machine has the"
    )
    Console.writeLine("profile. In the end it is killed in the middle of a download.\n")
    return try await showProfile(isTyped: isatty(STDIN_FILENO) == 1)
  }

  @MainActor
  private static func showProfile(isTyped: Bool) async throws -> ExitCode {
    let script = ["edit", "b 1", "edit", "Ada Lovelace", "download", "kill", "back", "quit"]
    let navigator = TerminalNavigator(script: isTyped ? nil : script)
    let server = try ProfileServer(UserProfile(name: "Grace"))
    defer { server.stop() }
    let flow = profileFlow(on: server, navigator)
    let run = flow.start()
    let typing = Task {
      guard isTyped else { return }
      for await line in typedLines() { navigator.type(line) }
      run.cancel(reason: "the end of the input")
    }
    defer { typing.cancel() }
    switch await run.outcome {
    case .resolved(let profile):
      Console.writeLine("Ended with \(profile.name). The answers that led there:")
      for entry in flow.answers { Console.writeLine("  \(entry.step): \(entry.result.map { "\($0)" } ?? "-")") }
      Console.writeLine("The flow, as declared (->) and as taken (~>):")
      Console.print(flow.describe(.text), to: .output)
      return .success
    case .failed(FlowError.back):
      Console.writeLine("Ended: back from the first screen.")
      return .success
    case .failed(let error):
      throw error
    case .cancelled(let cancellation):
      Console.writeError("Tour: cancelled: \(cancellation.reason ?? "no reason given")")
      return .interrupted
    }
  }

  private enum Action: String {
    case edit, download, kill, quit
  }

  @MainActor
  private static func profileFlow(on server: ProfileServer, _ navigator: TerminalNavigator) -> Flow<UserProfile> {
    let show = FlowStep<UserProfile, Action>("profile", .push, on: navigator) { handler in
      TerminalScreen("Profile", hint: "edit, download, kill (the server, in a download), quit", handler) { profile in
        "\(profile.name), changed \(profile.changes) times"
      } answer: { line in
        Action(rawValue: line)
      }
    }
    let editName = FlowStep<String, String>("edit name", .push, on: navigator) { handler in
      TerminalScreen("Edit name", hint: "a name", handler) { name in
        name
      } answer: { line in
        line.isEmpty ? nil : line
      }
    }
    let trouble = FlowStep<String, Void>("trouble", .present, on: navigator) { handler in
      TerminalScreen("Trouble", hint: "ok", handler) { text in
        text
      } answer: { line in
        line == "ok" ? () : nil
      }
    }
    let update = FlowStep("update", running: server.update)
    let download = FlowStep("download", running: server.download)
    func tell(_ what: String, _ ending: FlowEnding) -> FlowTransition<UserProfile>? {
      guard case .failed(let error) = ending else { return nil }
      return .replace(trouble, "the \(what) failed: \(error)")
    }

    return Flow<UserProfile>("profile flow", first: show, content: UserProfile(name: "Grace"))
      .on(show, leadsTo: [editName, download]) { action, step in
        switch action {
        case .edit: .next(editName, step.content.name)
        case .download: .next(download, false)
        case .kill: .next(download, true)
        case .quit: .finish(step.content)
        }
      }
      .on(editName, leadsTo: [update]) { name, _ in .next(update, name) }
      .on(update, leadsTo: [show]) { profile, _ in .next(show, profile) }
      .on(update, ended: { ending, _ in tell("update", ending) })
      .on(download) { profile, _ in
        show.content = profile
        return .back
      }
      .on(download, ended: { ending, _ in tell("download", ending) })
      .on(trouble, leadsTo: [show]) { _, _ in .next(show) }
      .on(trouble, ended: { _, _ in .next(show) })
  }

  /// What the user types, read on a separate thread.
  private static func typedLines() -> AsyncStream<String> {
    let (lines, continuation) = AsyncStream.makeStream(of: String.self)
    Thread.detachNewThread {
      while let line = readLine() { continuation.yield(line) }
      continuation.finish()
    }
    return lines
  }
}

/// A screen of a terminal: some lines, and the interpretation of a typed line.
@MainActor
final class TerminalScreen {
  let title: String
  private(set) var text: String
  let hint: String
  /// Whether the step still waits for a result.
  let isAsking: () -> Bool
  /// Goes back from the screen, also after its answer.
  let goBack: () -> Void
  /// Handles a line; returns whether it is valid.
  let type: (String) -> Bool

  /// Creates a screen that retains the handler.
  ///
  /// - Parameters:
  ///   - title: The heading.
  ///   - hint: What can be typed, besides `back`.
  ///   - handler: The handler of the step.
  ///   - text: Returns the text for the content.
  ///   - answer: Returns the result for a line; nil for an invalid one.
  init<Content, Result>(
    _ title: String,
    hint: String,
    _ handler: FlowStepHandler<Content, Result>,
    text: @escaping (Content) -> String,
    answer: @escaping (String) -> Result?
  ) {
    self.title = title
    self.hint = hint
    self.text = text(handler.content)
    isAsking = { !handler.isFinished }
    goBack = { handler.back() }
    type = { line in
      if line == "back" {
        handler.back()
      } else if let result = answer(line) {
        handler.complete(result)
      } else {
        return false
      }
      return true
    }
    handler.onContent { [weak self] content in self?.text = text(content) }
  }
}

/// Shows a flow's screens in a terminal, one below the other, and passes them the typed lines.
@MainActor
final class TerminalNavigator: FlowNavigator {
  /// The pushed and the presented screens, the visible one last.
  private var screens: [TerminalScreen] = []
  /// The typed lines that no screen has received yet.
  private var lines: [String] = []
  /// Whether the lines come from a script, so that they are echoed.
  private let isScripted: Bool

  init(script: [String]? = nil) {
    isScripted = script != nil
    lines = script ?? []
  }

  func push(_ screen: TerminalScreen) {
    screens.append(screen)
    show()
  }

  func replace(_ screen: TerminalScreen?, with newScreen: TerminalScreen) {
    let old = screen ?? screens.last
    guard let index = screens.firstIndex(where: { $0 === old }) else { return push(newScreen) }
    screens[index] = newScreen
    show()
  }

  func pop(_ screen: TerminalScreen) { screens.removeAll { $0 === screen } }
  func present(_ screen: TerminalScreen) { push(screen) }
  func dismiss(_ screen: TerminalScreen) { pop(screen) }

  /// Passes a line to the visible screen as soon as it waits for one.
  func type(_ line: String) {
    lines.append(line)
    handOver()
  }

  private func handOver() {
    while let visible = screens.last, visible.isAsking(), !lines.isEmpty {
      let line = lines.removeFirst()
      if isScripted { Console.writeLine("> \(line)") }
      if line.hasPrefix("b "), let count = Int(line.dropFirst(2)) {
        // The flow follows: it goes back over as many screens as were left in one turn.
        for screen in screens.suffix(count).reversed() { screen.goBack() }
        return
      }
      if !visible.type(line) { Console.writeLine("  (type \(visible.hint), back, or b and a number)") }
    }
  }

  private func show() {
    guard let visible = screens.last else { return }
    Console.writeLine("\(visible.title): \(visible.text)")
    if !isScripted { Console.writeLine("  type \(visible.hint) or back") }
    // Not immediately, because the flow is still presenting the screen.
    Task { handOver() }
  }
}

/// A server on this machine that stores one profile.
struct ProfileServer: Sendable {
  private let server: LoopbackServer

  init(_ first: UserProfile) throws {
    let stored = Lock(first)
    server = try LoopbackServer { request in
      let isRenamed = request.method == "PUT"
      let profile = stored.withLock { profile in
        if isRenamed {
          profile = UserProfile(name: String(decoding: request.body, as: UTF8.self), changes: profile.changes + 1)
        }
        return profile
      }
      // A long answer, so that sending it takes a while.
      let json = ((try? JSONEncoder().encode(profile)) ?? Data()) + Data(repeating: UInt8(ascii: " "), count: 2_000)
      return isRenamed ? .ok(Array(json)) : .ok(Array(json)).slowly(chunkSize: 256, pause: .milliseconds(40))
    }
  }

  func stop() { server.stop() }

  /// Fetches the profile, slowly; kills the server during the download if the input is true.
  var download: Chain<Bool, UserProfile> {
    Chain("download") { killsServer in
      var json = Data()
      for try await chunk in try await HTTP.stream(server.address).requireSuccess().body {
        json += chunk
        if killsServer { server.stop() }
      }
      return try JSONDecoder().decode(UserProfile.self, from: json)
    }
  }

  /// Renames the profile.
  var update: Chain<String, UserProfile> {
    Chain("rename") { name in try await HTTP.put(server.address, body: Data(name.utf8)).decoded() }
  }
}

/// The model of the profile scene: a name, and the number of changes.
struct UserProfile: Codable, Sendable {
  var name: String
  var changes = 0
}
