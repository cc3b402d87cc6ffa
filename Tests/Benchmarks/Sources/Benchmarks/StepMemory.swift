// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Performs very many steps in a loop, unobserved and observed; returns whether memory stays flat.
func checkStepMemory(steps: Int) async throws -> Bool {
  print("\nMemory of steps")
  let loop = Chain("loop") { (count: Int) in
    for number in 0..<count { try await step("step \(number)") {} }
  }
  let reserve = Chain("reserve") { (count: Int) in
    for number in 0..<count { try await step("step", retry: .init(maxAttempts: 2, backoff: .none)) { _ = number } }
  }
  for chain in [loop, reserve] { try await chain.run(1_000) }
  let isFlat = try await grows(by: 1_000_000, "\(steps) steps of a plain run") { try await loop.run(steps) }
  let isFlatWithRetry = try await grows(by: 1_000_000, "\(steps) steps with a retry") { try await reserve.run(steps) }
  let isFlatWhenStarted = try await grows(by: 2_000_000, "\(steps) steps of a started run") {
    try await loop.start(steps).value
  }
  let isFlatWhenObserved = try await grows(by: 2_000_000, "\(steps) steps of a run whose events are read") {
    let run = loop.start(steps)
    for await _ in run.events {}
    try await run.value
  }
  return isFlat && isFlatWithRetry && isFlatWhenStarted && isFlatWhenObserved
}

private actor Elsewhere {
  private var count = 0

  /// Counts in the isolation of the actor, in steps that have a time limit.
  func count(to limit: Int) async throws -> Int {
    for _ in 0..<limit { try await step("count", timeout: .seconds(60)) { count += 1 } }
    return count
  }
}

/// Performs steps with a time limit in each isolation, where an optimized build is what has crashed before.
func checkTimeLimitsInEachIsolation(steps: Int) async throws {
  let main = Chain("main") { @MainActor (limit: Int) in
    var count = 0
    for _ in 0..<limit { try await step("count", timeout: .seconds(60)) { count += 1 } }
    return count
  }
  let actor = Chain("actor") { (limit: Int) in try await Elsewhere().count(to: limit) }
  let nowhere = Chain("nowhere") { (limit: Int) in
    var count = 0
    for _ in 0..<limit { count = try await step("count", timeout: .seconds(60)) { [count] in count + 1 } }
    return count
  }
  for chain in [main, actor, nowhere] {
    let count = try await chain.run(steps)
    precondition(count == steps, "\(count) of \(steps) steps")
  }
  print("\n\(steps) time limits on the main actor, on an actor and on neither: kept")
}
