// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseCheckpoints
import StepwiseTesting

/// Adds up numbers, a stage for each, under a checkpoint: the child that is killed.
enum Sum: Progression, Codable, Equatable {
  case adding(next: Int, last: Int, sum: Int, padding: [Int])
  case done(sum: Int, last: Int)

  @TaskLocal static var journal: CrashJournal?

  var number: Int {
    switch self {
    case .adding(let next, _, _, _): next
    case .done(_, let last): last + 1
    }
  }

  var result: Int? {
    if case .done(let sum, _) = self { sum } else { nil }
  }

  @concurrent func next() async throws -> Sum {
    guard case .adding(let next, let last, let sum, let padding) = self else { return try completed() }
    Self.journal?.begun(next)
    guard next < last else { return .done(sum: sum + next, last: last) }
    return .adding(next: next + 1, last: last, sum: sum + next, padding: padding + [next])
  }
}

@main
struct CheckpointCrashChild {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, let last = Int(arguments[1]) else {
      print("use: CheckpointCrashChild <number of stages> <workspace>")
      exit(2)
    }
    let workspace = arguments[2]
    let journal = CrashJournal(workspace: workspace)
    let store = try FileCheckpointStore(directory: URL(fileURLWithPath: workspace + "/store"))
    let start = Sum.adding(next: 0, last: last, sum: 0, padding: [])
    try await Sum.$journal.withValue(journal) {
      for try await stage in start.stages(id: "sum/1", in: store) {
        journal.saved(stage.number)
        if let result = stage.result { print(result) }
      }
    }
  }
}
