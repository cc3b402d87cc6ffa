// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

@testable import Tour

/// A directory for one test, which is gone with its last reference.
final class Workshop: Sendable {
  let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("tour-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
  }

  deinit {
    try? FileManager.default.removeItem(at: directory)
  }

  /// The names of all that is there, hidden files too.
  var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() }
  }

  func write(_ bytes: [UInt8], to name: String) throws {
    try Data(bytes).write(to: directory.appendingPathComponent(name))
  }

  func bytes(of name: String) throws -> [UInt8] {
    try [UInt8](Data(contentsOf: directory.appendingPathComponent(name)))
  }

  /// Runs `thumbnail` there.
  func thumbnail(
    _ source: String,
    _ target: String = "out.bmp",
    interruptedWhen interrupted: @escaping @Sendable (String) -> Bool = { _ in false }
  ) async throws -> TourProcess.Result {
    try await TourProcess.run(["thumbnail", source, target], in: directory, interruptedWhen: interrupted)
  }
}
