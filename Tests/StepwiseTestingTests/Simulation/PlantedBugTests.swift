// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

/// The guarantees of `explore`, on known bugs.
@Suite(.timeLimit(.minutes(5)))
struct PlantedBugTests {
  @Test(
    "explore finds each planted bug within 1,000 seeds, shrinks it to 12 decisions, and its text repeats it",
    arguments: PlantedBug.allCases,
    [Scheduling.uniform, .pct(depth: 3)]
  )
  func isFound(_ bug: PlantedBug, scheduling: Scheduling) async throws {
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
  }

  /// Where one task has to stay behind for 40 turns of another, uniform choice needs about 2^40 seeds.
  @Test("PCT finds within 100 seeds an order that uniform choice misses in 1,000")
  func lateTask() async throws {
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
    #expect(failure?.decisionCounts.shortest ?? .max <= 12)
  }
}
