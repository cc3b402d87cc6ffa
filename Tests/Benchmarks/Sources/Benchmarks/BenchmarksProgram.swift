// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

@main
struct BenchmarksProgram {
  static func main() async throws {
    guard let command = Command(CommandLine.arguments.dropFirst()) else {
      print(Command.help)
      exit(2)
    }
    // Detached, so that nothing is measured from the main actor: every call from there costs a hop.
    let isGood = try await Task.detached { try await command.perform() }.value
    exit(isGood ? 0 : 1)
  }
}
