// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The model of the profile scene: a name, and the number of changes.
struct UserProfile: Sendable, Equatable {
  var name: String
  var changes = 0

  /// An error thrown for an invalid response.
  struct Unreadable: Error, CustomStringConvertible {
    let description = "the server sent no profile"
  }

  init(name: String) {
    self.name = name
  }

  /// Reads the form that `bytes` writes.
  ///
  /// - Throws: `Unreadable`.
  init(bytes: [UInt8]) throws(Unreadable) {
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    guard lines.count >= 2, let changes = Int(lines[1]) else { throw Unreadable() }
    name = String(lines[0])
    self.changes = changes
  }

  /// Two lines, and a picture's worth of dots, so that sending them takes a while.
  var bytes: [UInt8] {
    Array("\(name)\n\(changes)\n".utf8) + [UInt8](repeating: UInt8(ascii: "."), count: 2_000)
  }
}
