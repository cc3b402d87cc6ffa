// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

extension Scene {
  /// Looks into the folder of a checkpoint store.
  static let checkpoints = Scene(
    "checkpoints",
    "list the checkpoints in a folder; show or remove one",
    parameters: ["<folder>", "[show|remove]", "[<id>]", "[--force]"],
    details: CheckpointCommand.help
  ) { arguments in
    let command = try CheckpointCommand(arguments)
    let width = Console.isTerminal(.output) ? Console.size(.output).columns : .max
    for line in try await command.run(width: width, now: Date()) { Console.writeLine(line) }
    return .success
  }
}
