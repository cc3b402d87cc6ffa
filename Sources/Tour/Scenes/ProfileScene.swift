// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFlows
import StepwiseTracing

extension Scene {
  /// A flow of screens in the terminal, driven by the user, or by a script without one.
  static let profile = Scene("profile", "a flow in the terminal: edit, download, go back") { _ in
    let isTyped = isatty(STDIN_FILENO) == 1
    Console.writeLine(
      "A flow, which knows no screens, and a terminal that shows them. A server on this machine has the"
    )
    Console.writeLine("profile. In the end it is killed in the middle of a download.\n")
    return try await ProfileFlow(isTyped: isTyped).run()
  }
}

/// The profile flow, its screens and its input.
@MainActor
private final class ProfileFlow {
  enum Action: String {
    case edit, download, kill, quit
  }

  private let server: ProfileServer
  private let navigator: TerminalNavigator
  private let isTyped: Bool
  private let flow: Flow<UserProfile>

  init(isTyped: Bool) throws {
    let server = try ProfileServer(UserProfile(name: "Grace"))
    self.server = server
    let script = ["edit", "back", "edit", "Ada Lovelace", "download", "kill", "back", "quit"]
    let navigator = TerminalNavigator(script: isTyped ? nil : script)
    self.navigator = navigator
    self.isTyped = isTyped
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

    flow = Flow<UserProfile>("profile flow", first: show, content: UserProfile(name: "Grace"))
      .on(show, leadsTo: [editName, download]) { action, step in
        switch action {
        case .edit: .next(editName, step.content.name)
        case .download: .next(download, ProfileServer.Order())
        case .kill: .next(download, ProfileServer.Order(killsServer: true))
        case .quit: .finish(step.content)
        }
      }
      .on(editName, leadsTo: [update]) { name, _ in .next(update, name) }
      .on(update, leadsTo: [show]) { profile, _ in .next(show, profile) }
      .on(update, ended: { ending, _ in Self.tell(trouble, "update", ending) })
      .on(download) { profile, _ in
        show.content = profile
        return .back
      }
      .on(download, ended: { ending, _ in Self.tell(trouble, "download", ending) })
      .on(trouble, leadsTo: [show]) { _, _ in .next(show) }
      .on(trouble, ended: { _, _ in .next(show) })
  }

  private static func tell(
    _ trouble: FlowStep<String, Void>,
    _ what: String,
    _ ending: FlowEnding
  ) -> FlowTransition<UserProfile>? {
    guard case .failed(let error) = ending else { return nil }
    return .replace(trouble, "the \(what) failed: \(error)")
  }

  func run() async throws -> ExitCode {
    defer { server.stop() }
    let run = flow.start()
    if isTyped {
      Interrupts.onInterrupt { run.cancel(reason: "Ctrl-C") }
      let navigator = navigator
      let lines = Self.typedLines()
      let typing = Task {
        for await line in lines { navigator.type(line) }
        run.cancel(reason: "the end of the input")
      }
      defer { typing.cancel() }
      return try await end(of: run)
    }
    return try await end(of: run)
  }

  private func end(of run: Run<UserProfile>) async throws -> ExitCode {
    switch await run.outcome {
    case .resolved(let profile):
      Console.writeLine("Ended with \(profile.name). The answers that led there:")
      for entry in flow.answers { Console.writeLine("  \(entry.step): \(entry.result.map { "\($0)" } ?? "-")") }
      Console.writeLine("The flow, as declared (->) and as taken (~>):")
      Console.write(flow.describe(.text), to: .output)
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
