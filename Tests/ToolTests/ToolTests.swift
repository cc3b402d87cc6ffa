// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Testing

@testable import stepctl

/// The command line of the tool.
@Suite struct ToolTests {
  private static let command = ToolCommand(
    line: "test it <id> …",
    summary: "tests",
    options: [("--state <state>", "the state"), ("--force", "force")]
  ) { _, _ in }

  private func arguments(_ words: String...) throws -> Arguments { try Arguments(words[...], of: Self.command) }

  @Test
  func `Options have a value after a space or an equals sign`() throws {
    let read = try arguments("a", "--state", "failed", "--force", "b")
    #expect(read.words == ["a", "b"] && read.options == ["state": "failed", "force": ""])
    #expect(try arguments("a", "--state=a=b").options["state"] == "a=b")
    #expect(try arguments("--", "--force", "-x").words == ["--force", "-x"])
    #expect(try arguments("-").words == ["-"])
  }

  @Test
  func `A wrong command line exits with code 2 and names the help`() async throws {
    let wrong = [["a", "--stat"], ["--force=1", "a"], ["a", "--state"], [], ["-x", "a"]]
    for words in wrong {
      let error = #expect(throws: CommandError.self) { try Arguments(words[...], of: Self.command) }
      #expect(error?.code == .usage && error?.description.contains("stepctl test it --help") == true)
    }
    for words in [
      ["checkpoint"], ["checkpoints", "lists"], ["checkpoints", "list"], ["checkpoints", "show", "a", "b", "c"],
    ] {
      let result = await tool(words)
      #expect(result.code == .usage && result.output == "" && result.error.split(separator: "\n").count == 1)
    }
  }

  @Test
  func `Each help fits a screen of 24 lines with 80 columns`() async {
    for words in [[], ["--help"], ["-h"]] {
      let result = await tool(words)
      #expect(result.code == .success && result.output == Tool.help())
    }
    for command in Tool.commands where command.options != nil {
      let result = await tool(command.path + ["--help"])
      #expect(result.code == .success && result.output == command.help)
    }
    for text in [Tool.help()] + Tool.commands.map(\.help) {
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.count <= 24 && lines.allSatisfy { $0.count <= 80 }, "\(text)")
    }
  }

  @Test
  func `The word of a group lists its commands`() async {
    for words in [["checkpoints"], ["checkpoints", "--help"]] {
      let result = await tool(words)
      #expect(result.code == .success && result.output.contains("checkpoints cancel <folder> <id>"))
      #expect(!result.output.contains("  fleet "))
    }
    let unknown = await tool(["checkpoints", "lists"])
    #expect(unknown.error == "stepctl: there is no command 'checkpoints lists'; 'stepctl checkpoints' lists them\n")
  }

  #if !Postgres
    @Test
    func `Without libpq, each command of the fleet says how to build it`() async {
      for words in [["status"], ["jobs", "--state", "failed"], ["serve", "--help"], []] {
        let result = await tool(["fleet"] + words)
        #expect(result.code == .failure && result.output == "")
        let line = (["swift run --traits Postgres stepctl fleet"] + words).joined(separator: " ")
        #expect(result.error == "stepctl: this command needs libpq; type: \(line)\n")
      }
    }
  #endif
}
