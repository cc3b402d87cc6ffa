// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

/// The path of the program that is killed, beside the test bundle.
func crashChild() throws -> String {
  final class Anchor {}
  let bundle = Bundle(for: Anchor.self).bundleURL
  let folders = [bundle, bundle.deletingLastPathComponent(), Bundle.main.bundleURL]
  let program = folders.map { $0.appendingPathComponent("CheckpointCrashChild").path }
    .first { FileManager.default.isExecutableFile(atPath: $0) }
  return try #require(program)
}
