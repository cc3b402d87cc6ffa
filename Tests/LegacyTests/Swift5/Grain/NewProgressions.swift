// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting

/// A file of the new world.
enum NewProgressions {
  static func run<P: Progression>(_ progression: P) async throws -> P.Result { try await progression.run() }

  static func stageCount<P: Progression>(_ progression: P) async throws -> Int {
    var count = 0
    for try await _ in progression.stages { count += 1 }
    return count
  }

  static func halving(_ number: Int) -> Halving { .at(number) }
}

/// Halves a number until it is odd.
enum Halving: Progression {
  case at(Int)

  func next() async throws -> Halving {
    switch self {
    case .at(0): throw Fault("zero has no end")
    case .at(let number): .at(number / 2)
    }
  }

  var result: String? {
    guard case .at(let number) = self, number % 2 == 1 else { return nil }
    return "odd: \(number)"
  }
}
