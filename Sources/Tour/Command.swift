// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Loopback

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// What the command line asks for.
enum Command: Sendable {
  case help
  case run(Scene, arguments: [String])

  /// A command line that makes no sense, in one line.
  struct UsageError: Error, CustomStringConvertible {
    let description: String
  }

  /// Reads the arguments, without the program's name.
  ///
  /// - Throws: `UsageError` for an unknown scene and for too few or too many arguments.
  init(_ arguments: [String], scenes: [Scene] = Scene.all) throws(UsageError) {
    if arguments.contains(where: { argument in ["--help", "-h"].contains(argument) }) {
      self = .help
      return
    }
    guard let scene = scenes.first(where: { scene in scene.name == arguments.first }) else {
      let problem = arguments.first.map { name in "there is no scene '\(name)'" } ?? "name a scene"
      throw UsageError(description: "\(problem); 'swift run Tour --help' lists them")
    }
    let rest = Array(arguments.dropFirst())
    guard scene.argumentCount.contains(rest.count) else {
      throw UsageError(description: "wrong number of arguments; usage: \(scene.usage)")
    }
    self = .run(scene, arguments: rest)
  }

  /// Does what the arguments ask for and gives the program's exit code; trouble becomes one line on standard error.
  static func execute(
    _ arguments: [String],
    scenes: [Scene] = Scene.all,
    write: @Sendable (_ text: String, _ stream: Console.Stream) -> Void = Console.write
  ) async -> ExitCode {
    func complain(_ error: any Error) {
      write("Tour: \(Console.oneLine(String(describing: error)))\n", .error)
    }
    do {
      switch try Command(arguments, scenes: scenes) {
      case .help:
        write(help(scenes), .output)
        return .success
      case .run(let scene, let arguments):
        return try await scene.body(arguments)
      }
    } catch let error as UsageError {
      complain(error)
      return .usage
    } catch {
      complain(error)
      return .failure
    }
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

/// One scene of the tour.
///
/// A scene is a value in its own file, `extension Scene { static let retry = Scene(…) }`, and a line in `Scene.all`.
struct Scene: Sendable {
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

extension Scene {
  /// All scenes, in the order of `--help`; the one without a name is the default.
  static let all: [Scene] = [
    .picture, .thumbnail, .cancel, .retry, .undo, .callbacks, .importText, .profile, .login, .download, .checkpoints,
    .fleet, .trace,
  ]
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
