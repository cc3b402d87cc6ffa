// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

#if !canImport(Darwin)
  /// What a sample uses of files that are outside of an app's sandbox: here, a file that exists can be accessed.
  extension URL {
    func startAccessingSecurityScopedResource() -> Bool { FileManager.default.fileExists(atPath: path) }
    func stopAccessingSecurityScopedResource() {}
  }
#endif

/// A directory for one test, which ends with it.
final class Workshop {
  let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("legacy-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: directory) }

  func file(_ text: String) throws -> URL {
    let file = directory.appendingPathComponent("file.json")
    try Data(text.utf8).write(to: file)
    return file
  }
}
