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

/// One scene of the tour.
///
/// A scene is a value in its own file, `extension Scene { static let retry = Scene(…) }`, and a line in `Scene.all`.
struct Scene: Sendable {
  /// All scenes, in the order of `--help`; the one without a name is the default.
  static let all: [Scene] = [
    .picture, .thumbnail, .cancel, .retry, .undo, .callbacks, .importText, .profile, .login, .download, .checkpoints,
    .fleet, .trace,
  ]

  /// The code of the scene, with as many arguments as `parameters` names.
  ///
  /// An error that it throws becomes one line on standard error and the exit code 1.
  typealias Body = @Sendable (_ arguments: [String]) async throws -> ExitCode

  /// The name on the command line, or nil for the default scene.
  let name: String?
  /// One line for `--help`.
  let summary: String
  /// The parameters of the scene in `--help`, such as `"<out.bmp>"`, or `"[<file>]"` for an optional one; three dots
  /// stand for any number.
  let parameters: [String]
  /// Further lines for `--help`.
  let details: [String]
  let body: Body

  init(
    _ name: String?,
    _ summary: String,
    parameters: [String] = [],
    details: [String] = [],
    body: @escaping Body
  ) {
    self.name = name
    self.summary = summary
    self.parameters = parameters
    self.details = details
    self.body = body
  }

  /// The number of arguments of the scene.
  var argumentCount: ClosedRange<Int> {
    let least = parameters.filter { parameter in !parameter.hasPrefix("[") }.count
    return least...(parameters.contains { parameter in parameter.contains("...") } ? .max : parameters.count)
  }

  /// The command line of the scene.
  var usage: String {
    (["swift run Tour"] + [name].compactMap(\.self) + parameters).joined(separator: " ")
  }
}

/// The exit code of the program.
enum ExitCode: Int32, Sendable {
  case success = 0
  /// The work was tried and failed.
  case failure = 1
  /// The command line could not be understood.
  case usage = 2
  /// Ctrl-C ended the work: 128 and the number of the signal.
  case interrupted = 130
}

/// What the command line asks for.
enum Command {
  /// A command line that makes no sense, in one line.
  struct UsageError: Error, CustomStringConvertible {
    let description: String
  }

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
