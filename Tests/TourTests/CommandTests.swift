// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Stepwise
import StepwiseTesting
import Testing

@testable import Tour

/// The command line: which scene runs, and what is said when none can.
@Suite struct CommandTests {
  private struct Trouble: Error, CustomStringConvertible {
    let description = "went\nwrong"
  }

  private static let scenes = [
    Scene(nil, "the default") { _ in .success },
    Scene("copy", "copies", parameters: ["<from>", "<to>"]) { arguments in
      arguments == ["a", "b"] ? .success : .interrupted
    },
    Scene("fail", "fails") { _ in throw Trouble() },
    Scene("stop", "ends early") { _ in throw CancellationError() },
  ]

  private func run(_ arguments: String...) async -> (code: ExitCode, output: String, error: String) {
    let written = Lock((output: "", error: ""))
    let code = await Command.execute(arguments, scenes: Self.scenes) { text, stream in
      written.withLock { written in
        switch stream {
        case .output: written.output += text
        case .error: written.error += text
        }
      }
    }
    return written.withLock { written in (code, written.output, written.error) }
  }

  @Test func `The named scene runs`() async {
    #expect(await run() == (.success, "", ""))
    #expect(await run("copy", "a", "b") == (.success, "", ""))
    #expect(await run("copy", "b", "a") == (.interrupted, "", ""))
  }

  @Test func `Nonsensical arguments are refused`() async {
    #expect(
      await run("cpoy") == (.usage, "", "Tour: there is no scene 'cpoy'; 'swift run Tour --help' lists them\n")
    )
    let usage = "Tour: wrong number of arguments; usage: swift run Tour copy <from> <to>\n"
    #expect(await run("copy", "a") == (.usage, "", usage))
    #expect(await run("copy", "a", "b", "c") == (.usage, "", usage))
    #expect(await run("").code == .usage)
  }

  @Test func `Failed work is reported in one line`() async {
    #expect(await run("fail") == (.failure, "", "Tour: went wrong\n"))
    #expect(await run("stop").code == .failure)
  }

  @Test(arguments: ["--help", "-h"])
  func `The scenes are listed`(option: String) async {
    let result = await run(option)
    #expect(result.code == .success)
    #expect(result.error.isEmpty)
    #expect(result.output.contains("  swift run Tour copy <from> <to>  copies\n"))
    #expect(result.output.contains("  swift run Tour                   the default\n"))
  }

  @Test func `Each name has one scene`() {
    let names = [
      nil, "thumbnail", "cancel", "retry", "undo", "callbacks", "import", "profile", "login", "download", "fleet",
      "trace", "order", "crash",
    ]
    #expect(Set(Scene.all.map(\.name)) == Set(names))
    #expect(Set(Scene.all.map(\.name)).count == Scene.all.count)
    #expect(Command.help().split(separator: "\n").allSatisfy { line in line.count <= 120 })
  }

  /// As when the signal reaches the run of a scene first: the task is cancelled after the token, and may not know it yet.
  @Test func `A command is interrupted even before its task is cancelled`() async throws {
    let token = CancellationToken()
    let written = Recorder<String>()
    let code = try await withCancellation(by: token) {
      await Task {
        await runCommand(of: "Tour") { text, _ in
          written.record(text)
        } _: {
          token.cancel(reason: "SIGINT")
          throw CancellationError()
        }
      }.value
    }
    #expect(code == .interrupted)
    #expect(written.elements == ["Tour: cancelled: SIGINT\n"])
  }
}
