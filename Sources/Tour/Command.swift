// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Loopback

extension Scene {
  /// All scenes, in the order of `--help`; the one without a name is the default.
  static let all: [Scene] = [
    .picture, .thumbnail, .cancel, .retry, .undo, .callbacks, .importText, .profile, .login, .download, .order,
    .crash, .fleet, .trace,
  ]
}

/// The program: runs the scene that the command line names.
@main
enum Command {
  static func main() async {
    LoopbackServer.bypassProxy()
    await runProgram { await execute($0) }
  }

  /// Does what the arguments ask for and gives the program's exit code; trouble becomes one line on standard error.
  static func execute(
    _ arguments: [String],
    scenes: [Scene] = Scene.all,
    write: @escaping @Sendable (_ text: String, _ stream: Console.Stream) -> Void = Console.print
  ) async -> ExitCode {
    if arguments.contains("--help") || arguments.contains("-h") {
      write(help(scenes), .output)
      return .success
    }
    // The first Ctrl-C cancels the scene, which ends after its undos and handlers.
    return await runCommand(of: "Tour", write: write) {
      try await scene(of: arguments, scenes).body(Array(arguments.dropFirst()))
    }
  }

  /// - Throws: `CommandError` for an unknown scene and for too few or too many arguments.
  private static func scene(of arguments: [String], _ scenes: [Scene]) throws(CommandError) -> Scene {
    guard let scene = scenes.first(where: { scene in scene.name == arguments.first }) else {
      let problem = arguments.first.map { name in "there is no scene '\(name)'" } ?? "name a scene"
      throw CommandError("\(problem); 'swift run Tour --help' lists them", code: .usage)
    }
    guard scene.argumentCount.contains(max(arguments.count - 1, 0)) else {
      throw CommandError("wrong number of arguments; usage: \(scene.usage)", code: .usage)
    }
    return scene
  }

  /// The text of `--help`.
  static func help(_ scenes: [Scene] = Scene.all) -> String {
    // A longer command line has its summary below it.
    let width = scenes.map(\.usage.count).filter { $0 <= 55 }.max() ?? 0
    let lines = scenes.map { scene in
      let gap = width - scene.usage.count + 2
      let space = gap > 0 ? String(repeating: " ", count: gap) : "\n" + String(repeating: " ", count: width + 4)
      return "  \(scene.usage)\(space)\(scene.summary)\n" + scene.details.map { "      \($0)\n" }.joined()
    }
    return "Stepwise, shown by a program that runs.\n\n" + lines.joined()
  }
}
