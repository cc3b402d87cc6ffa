// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit

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
