// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// A new directory that is removed when this object is released.
final class TemporaryDirectory: Sendable {
  let url: URL

  /// Makes it.
  ///
  /// - Parameter inMemory: Whether it is to be in memory, where there is a file system for that: a kill leaves the same
  ///   there as on a disk, and syncing takes no time.
  /// - Throws: What keeps it from being made.
  init(inMemory: Bool = false) throws {
    let memory = URL(fileURLWithPath: "/dev/shm")
    let isThere = inMemory && FileManager.default.isWritableFile(atPath: memory.path)
    url = (isThere ? memory : FileManager.default.temporaryDirectory).appendingPathComponent(
      "checkpoints-\(UUID().uuidString)"
    )
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  /// The names in it, hidden ones aside.
  var names: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: url.path).filter { !$0.hasPrefix(".") }.sorted()
    }
  }
}
