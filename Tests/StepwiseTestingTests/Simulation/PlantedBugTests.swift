// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseTesting
import Testing

/// The guarantees of `explore`, on known bugs.
@Suite(.timeLimit(.minutes(5)))
struct PlantedBugTests {
  @Test(
    arguments: PlantedBug.allCases,
    [Scheduling.uniform, .pct(depth: 3)]
  )
  func `explore finds each planted bug at the seed of the article`(_ bug: PlantedBug, scheduling: Scheduling)
    async throws
  {
    let failure = try #require(
      await #expect(throws: SimulationFailure.self) {
        try await explore(seeds: 0..<1_000, scheduling: scheduling, bug.run)
      }
    )
    #expect(failure.isReproducible)
    #expect(failure.decisionCounts.shortest <= 12)
    let repeated = await #expect(throws: SimulationFailure.self) {
      try await simulate(schedule: failure.schedule, bug.run)
    }
    #expect(repeated?.trace == failure.trace)
    let row = try bug.row
    #expect(failure.seed == row.seeds(scheduling) - 1)
    #expect(row.decisions.contains(failure.decisionCounts.shortest))
  }

  /// The body fails in some of its runs, however the tasks are ordered.
  @Test(arguments: [1, 2, 5, 6])
  func `A failure is reproducible that repeats five times`(failures: Int) async {
    let runs = Lock(0)
    let failure = await #expect(throws: SimulationFailure.self) {
      try await simulate(seed: 1) { _ in
        let number = runs.withLock { runs in
          runs += 1
          return runs
        }
        try require(number > failures, "run \(number)")
      }
    }
    #expect(failure?.isReproducible == (failures == 6))
    #expect(failure?.description.contains("did not repeat under the same schedule") == (failures < 6))
  }

  /// Where one task has to stay behind for 40 turns of another, uniform choice needs about 2^40 seeds.
  @Test
  func `PCT finds in 100 seeds what uniform choice misses in 1,000`() async throws {
    let lateTask: @Sendable (ManualClock) async throws -> Void = { _ in
      let turns = Cell(0)
      async let fast: Void = { for _ in 0..<40 { await turns.update { $0 += 1 } } }()
      async let late = turns.get()
      let (seen, _) = await (late, fast)
      try require(seen < 40, "the late task ran after all turns of the other")
    }
    try await explore(seeds: 0..<1_000, lateTask)
    let failure = await #expect(throws: SimulationFailure.self) {
      try await explore(seeds: 0..<100, scheduling: .pct(depth: 1), lateTask)
    }
    // As the article says.
    #expect(failure?.seed == 0)
    #expect(failure?.decisionCounts.shortest == 0)
  }
}

/// A row of the table in the article *Find a race*.
private struct PlantedBugRow {
  private let uniform: UInt64
  private let pct: UInt64
  let decisions: ClosedRange<Int>

  init(_ title: String) throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
    let page = root.appending(path: "Sources/StepwiseTesting/Documentation.docc/FindARace.md").standardized
    let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
    let line = try #require(lines.first { $0.hasPrefix("| \(title) |") }, "the article has no row “\(title)”")
    let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
    try #require(cells.count == 4)
    uniform = try #require(UInt64(cells[1]))
    pct = try #require(UInt64(cells[2]))
    let numbers = cells[3].split(separator: " ").compactMap { Int($0) }
    decisions = try #require(numbers.first)...(try #require(numbers.last))
  }

  /// How many seeds it takes, from seed 0.
  func seeds(_ scheduling: Scheduling) -> UInt64 { scheduling == .uniform ? uniform : pct }
}

extension PlantedBug {
  fileprivate var row: PlantedBugRow {
    get throws {
      let title =
        switch self {
        case .lostWakeup: "Lost wakeup"
        case .checkThenAct: "Check, then act"
        case .doubleResume: "Double resume"
        case .slotReuse: "A slot that is used again (ABA)"
        case .lockOrder: "Two locks in opposite order"
        case .missedCancellation: "Missed cancellation"
        case .callbackTwice: "A callback that is called twice"
        case .lostUpdate: "Read, modify, write across `await`"
        case .unboundedQueue: "A queue without a bound"
        case .orderInversion: "Records out of order"
        }
      return try PlantedBugRow(title)
    }
  }
}
