// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

/// The progression that the app runs; in a package of your own it is in a library that the child and the app import.
enum Import: Progression, Codable {
  case start(lines: [String]), sum([Int], at: Int, total: Int), done(Int)

  func next() async throws -> Import {
    switch self {
    case .start(let lines): .sum(lines.compactMap { Int($0) }, at: 0, total: 0)
    case .sum(let numbers, let place, let total) where place < numbers.count:
      .sum(numbers, at: place + 1, total: total + numbers[place])
    case .sum(_, _, let total): .done(total)
    case .done: try completed()
    }
  }

  var result: Int? {
    if case .done(let total) = self { total } else { nil }
  }
}

@main
struct ImportCrashChild {
  static func main() async throws {
    try await CrashHarness.runChild(Import.start(lines: ["1", "2", "3"]))
  }
}
