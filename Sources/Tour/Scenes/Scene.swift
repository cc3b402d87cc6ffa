// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One thing that the tour shows.
///
/// A scene is a value in a file of its own, `extension Scene { static let retry = Scene(…) }`, and a line in
/// `Scene.all`.
struct Scene: Sendable {
  /// What runs when the scene is chosen, with as many arguments as `parameters` names.
  ///
  /// An error that it throws becomes one line on standard error and the exit code 1.
  typealias Body = @Sendable (_ arguments: [String]) async throws -> ExitCode

  /// The word on the command line that chooses the scene, or nil for the one that runs without any.
  let name: String?
  /// One line for `--help`.
  let summary: String
  /// What the scene takes, as `--help` shows it, such as `"<out.bmp>"`, or `"[<file>]"` for what may be left out;
  /// three dots stand for any number.
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

  /// How many arguments the scene takes.
  var argumentCount: ClosedRange<Int> {
    let least = parameters.filter { parameter in !parameter.hasPrefix("[") }.count
    return least...(parameters.contains { parameter in parameter.contains("...") } ? .max : parameters.count)
  }

  /// The command line that runs the scene.
  var usage: String {
    (["swift run Tour"] + [name].compactMap(\.self) + parameters).joined(separator: " ")
  }
}
