// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

@main
struct BenchmarksProgram {
  static func main() async throws {
    if CommandLine.arguments.dropFirst() == ["--bounds", "checkpoints"] {
      exit(try await Task.detached { try await checkCheckpointBounds(.full) }.value ? 0 : 1)
    }
    if CommandLine.arguments.dropFirst() == ["--bounds", "http"] {
      exit(try await Task.detached { try await checkHTTPBounds(.full) }.value ? 0 : 1)
    }
    guard let command = Command(CommandLine.arguments.dropFirst()) else {
      print(Command.help)
      exit(2)
    }
    // Detached, so that nothing is measured from the main actor: every call from there costs a hop.
    let isGood = try await Task.detached {
      let isGood = try await command.perform()
      let areKept = try await checkpointBoundsHold(for: command)
      return try await httpBoundsHold(for: command) && areKept && isGood
    }.value
    exit(isGood ? 0 : 1)
  }
}
