// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Loopback
import Stepwise

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

extension Scene {
  /// All scenes, in the order of `--help`; the one without a name is the default.
  static let all: [Scene] = [
    .picture, .thumbnail, .cancel, .retry, .undo, .callbacks, .importText, .profile, .login, .download, .checkpoints,
    .order, .fleet, .trace,
  ]
}

/// What the command line asks for.
enum Command {
  /// Does what the arguments ask for and gives the program's exit code; trouble becomes one line on standard error.
  static func execute(
    _ arguments: [String],
    scenes: [Scene] = Scene.all,
    write: @escaping @Sendable (_ text: String, _ stream: Console.Stream) -> Void = Console.write
  ) async -> ExitCode {
    do {
      if arguments.contains("--help") || arguments.contains("-h") {
        write(help(scenes), .output)
        return .success
      }
      let scene = try scene(of: arguments, scenes)
      // The first Ctrl-C cancels the scene, which ends after its undos and handlers.
      return try await withTerminationSignals {
        try await withCancellationToken { token in
          do {
            return try await scene.body(Array(arguments.dropFirst()))
          } catch is CancellationError where token.isCancelled {
            write("Tour: cancelled: \(token.reason ?? "no reason given")\n", .error)
            return .interrupted
          }
        }
      }
    } catch {
      write("Tour: \(Console.oneLine(String(describing: error)))\n", .error)
      return error is UsageError ? .usage : .failure
    }
  }

  /// - Throws: `UsageError` for an unknown scene and for too few or too many arguments.
  private static func scene(of arguments: [String], _ scenes: [Scene]) throws(UsageError) -> Scene {
    guard let scene = scenes.first(where: { scene in scene.name == arguments.first }) else {
      let problem = arguments.first.map { name in "there is no scene '\(name)'" } ?? "name a scene"
      throw UsageError(description: "\(problem); 'swift run Tour --help' lists them")
    }
    guard scene.argumentCount.contains(max(arguments.count - 1, 0)) else {
      throw UsageError(description: "wrong number of arguments; usage: \(scene.usage)")
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

/// The program: runs the scene that the command line names.
@main
struct TourProgram {
  static func main() async {
    signal(SIGPIPE, SIG_IGN)  // who reads the output may end before the work does: swift run Tour | head -1
    LoopbackServer.bypassProxy()
    let code = await Command.execute(Array(CommandLine.arguments.dropFirst()))
    exit(code.rawValue)
  }
}
