// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Scene {
  /// All scenes, in the order of `--help`; the one without a name is the default.
  static let all: [Scene] = [
    .announced(nil, "fetch, decode, halve and save a picture, all on this machine"),
    .announced(
      "thumbnail",
      "do the same with your own picture",
      parameters: ["<file or http URL>", "<out.bmp>"]
    ),
    .announced("cancel", "cancel a chain through a token, with a reason"),
    .announced("retry", "retry on a server that fails at first"),
    .announced("undo", "undo a booking that fails half way"),
    .announced("callbacks", "callbacks that come twice, never, or too late, and do no harm"),
  ]

  /// A scene of which nothing but its description is there.
  private static func announced(_ name: String?, _ summary: String, parameters: [String] = []) -> Scene {
    Scene(name, summary, parameters: parameters) { _ in
      throw MissingScene(name: name ?? "default")
    }
  }

  /// The error of a scene that has no body.
  private struct MissingScene: Error, CustomStringConvertible {
    let name: String
    var description: String { "the scene '\(name)' is not part of this build" }
  }
}
