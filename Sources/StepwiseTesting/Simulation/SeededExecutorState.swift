// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What a seeded executor knows, as a pure value: the jobs that are ready, and the dice.
package struct SeededExecutorState<Job: Sendable>: Sendable {
  private var ready: [Job] = []
  private var generator: SeededGenerator
  private var isRunning = false

  package init(seed: UInt64) {
    generator = SeededGenerator(seed: seed)
  }

  /// Takes the executor for one run, and answers false when it is taken.
  package mutating func begin() -> Bool {
    guard !isRunning else { return false }
    isRunning = true
    return true
  }

  /// Gives the executor back.
  package mutating func end() {
    isRunning = false
  }

  package mutating func enqueue(_ job: Job) {
    ready.append(job)
  }

  /// Takes out one of the ready jobs, each with the same chance.
  package mutating func next() -> Job? {
    guard !ready.isEmpty else { return nil }
    ready.swapAt(Int.random(in: ready.indices, using: &generator), ready.endIndex - 1)
    return ready.removeLast()
  }
}
