// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// A file of the new world.
enum Moved {
  static func run(on name: String) async -> String? {
    try? await Job(name) { () -> String in name }.launch(on: JobQueue(maxConcurrent: 1)).value
  }
}
