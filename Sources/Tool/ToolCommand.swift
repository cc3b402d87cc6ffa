// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit

/// A command of the tool: what it accepts, and what it does.
struct ToolCommand: Sendable {
  /// An option as it is written, such as `--state <states>` or `--json`, and what it does.
  typealias Option = (usage: String, summary: String)

  /// The command as it is written, such as `fleet cancel <id> …`; three dots stand for further words.
  let line: String
  let summary: String
  /// The options; nil when everything after the name is a word.
  var options: [Option]? = []
  let body: @Sendable (Arguments, Output) async throws -> Void

  static let common: [Option] = [("--json", "write JSON instead of text"), ("--help", "show this help")]

  private var parts: [Substring] { line.split(separator: " ") }
  private func isName(_ part: Substring) -> Bool { !part.hasPrefix("<") && part != "…" }

  var path: [String] { parts.prefix(while: isName).map(String.init) }
  /// The words after the name.
  var words: [Substring] { Array(parts.drop(while: isName)) }

  var help: String {
    let rows = ((options ?? []) + Self.common).map { ["  " + $0.usage, $0.summary] }
    let lines = ["usage: stepctl \(line) [options]", "", "It \(summary).", ""] + Table.lines(rows)
    return lines.joined(separator: "\n") + "\n"
  }
}

/// The words and the options after the name of a command.
struct Arguments: Sendable {
  private(set) var words: [String] = []
  /// The values of the options, without the dashes of their names; empty for one without a value.
  private(set) var options: [String: String] = [:]

  /// Reads `--name`, `--name value` and `--name=value`; after `--`, everything is a word.
  init(_ arguments: ArraySlice<String>, of command: ToolCommand) throws(CommandError) {
    var rest = arguments
    func wrong(_ problem: String) -> CommandError {
      let name = command.path.joined(separator: " ")
      return CommandError("\(problem); 'stepctl \(name) --help' shows what it accepts", code: .usage)
    }
    while let next = rest.popFirst() {
      guard let options = command.options, next.hasPrefix("-"), next != "-" else {
        words.append(next)
        continue
      }
      if next == "--" {
        words += rest
        break
      }
      let parts = (next == "-h" ? "--help" : next).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let known = (options + ToolCommand.common).lazy.map { $0.usage.split(separator: " ") }.first { $0[0] == parts[0] }
      guard let option = known else { throw wrong("there is no option '\(parts[0])'") }
      guard option.count > 1 || parts.count == 1 else { throw wrong("'\(parts[0])' has no value") }
      // A value that begins with two dashes follows an equals sign: a forgotten one takes no other option with it.
      let hasNext = rest.first.map { !$0.hasPrefix("--") } ?? false
      let next = option.count == 1 ? "" : hasNext ? rest.popFirst() : nil
      guard let value = parts.dropFirst().first.map(String.init) ?? next else {
        throw wrong("'\(parts[0])' needs \(option[1])")
      }
      self.options[String(option[0].dropFirst(2))] = value
    }
    let fixed = command.words.count { $0 != "…" }
    guard has("help") || words.count == fixed || words.count > fixed && fixed < command.words.count else {
      throw wrong("usage: stepctl \(command.line)")
    }
  }

  func has(_ option: String) -> Bool { options[option] != nil }

  /// The number in an option.
  func number(_ option: String, in range: ClosedRange<Int>, otherwise standard: Int) throws(CommandError) -> Int {
    guard let text = options[option] else { return standard }
    guard let number = Int(text), range.contains(number) else {
      throw CommandError("'--\(option)' is a number from \(range.lowerBound) to \(range.upperBound)", code: .usage)
    }
    return number
  }
}

/// The program `stepctl`: finds the command that the arguments name and runs it.
@main
enum Tool {
  static let commands = checkpointCommands + fleetCommands

  static func main() async { await runProgram { await execute($0) } }

  static func execute(
    _ arguments: [String],
    write: @escaping @Sendable (_ text: String, _ stream: Console.Stream) -> Void = Console.print
  ) async -> ExitCode {
    await runCommand(of: "stepctl", write: write) {
      guard let command = commands.first(where: { arguments.starts(with: $0.path) }) else {
        // The word of a group, such as "fleet", lists its commands.
        let group = commands.filter { arguments.first == $0.path[0] }
        let isOnlyGroup = arguments.count == 1 && !group.isEmpty
        guard arguments.isEmpty || isOnlyGroup || arguments.contains(where: ["--help", "-h"].contains) else {
          let words = arguments.prefix(2).joined(separator: " ")
          let list = group.isEmpty ? "stepctl --help" : "stepctl \(arguments[0])"
          throw CommandError("there is no command '\(words)'; '\(list)' lists them", code: .usage)
        }
        write(help(on: group.isEmpty ? commands : group), .output)
        return .success
      }
      let arguments = try Arguments(arguments.dropFirst(command.path.count), of: command)
      if arguments.has("help") {
        write(command.help, .output)
      } else {
        try await command.body(arguments, Output(isJSON: arguments.has("json"), write: write))
      }
      return .success
    }
  }

  static func help(on commands: [ToolCommand] = Tool.commands) -> String {
    """
    usage: stepctl <command> [options]; --help after a command shows its options.
    \(Table.lines(commands.map { ["  " + $0.line, $0.summary] }).joined(separator: "\n"))
    With --json, durations are in seconds, sizes in bytes, times in ISO 8601.
    STEPWISE_FLEET is the fleet's database, such as 'host=db.internal dbname=work'.
    Exit codes: 0 done, 1 failed or refused, 2 wrong usage, 3 not found, 130 Ctrl-C.

    """
  }
}
