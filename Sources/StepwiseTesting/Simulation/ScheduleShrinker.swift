// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Finds a short schedule that still fails, by delta debugging over its choices.
///
/// The algorithm is *ddmin*: A. Zeller, R. Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE
/// Transactions on Software Engineering 28(2), 2002. Afterwards each choice that is left is moved towards the oldest
/// job where the schedule still fails.
struct ScheduleShrinker {
  /// How many more schedules may be tried.
  var budget: Int

  /// Shortens a schedule that fails, as far as the budget allows.
  ///
  /// - Parameters:
  ///   - schedule: A schedule that fails.
  ///   - fails: Runs the simulation with a schedule and tells whether it failed.
  /// - Returns: A schedule that fails.
  mutating func shrink(_ schedule: Schedule, fails: (Schedule) async -> Bool) async -> Schedule {
    var best = schedule
    if await test([], fails) { return Schedule() }
    var parts = 2
    while best.choices.count >= 2, budget > 0 {
      let size = (best.choices.count + parts - 1) / parts
      var reduced: [Schedule.Choice]?
      for start in stride(from: 0, to: best.choices.count, by: size) {
        let rest = Array(best.choices[..<start] + best.choices[min(start + size, best.choices.count)...])
        if await test(rest, fails) {
          reduced = rest
          break
        }
      }
      if let reduced {
        best = Schedule(reduced)
        parts = max(parts - 1, 2)
      } else if parts >= best.choices.count {
        break
      } else {
        parts = min(parts * 2, best.choices.count)
      }
    }
    return await lower(best, fails)
  }

  private mutating func lower(_ schedule: Schedule, _ fails: (Schedule) async -> Bool) async -> Schedule {
    var best = schedule
    for position in best.choices.indices {
      let choice = best.choices[position]
      for index in 0..<choice.index {
        var candidate = best.choices
        candidate[position] = Schedule.Choice(decision: choice.decision, index: index)
        if await test(candidate, fails) {
          best = Schedule(candidate)
          break
        }
      }
    }
    return best
  }

  private mutating func test(_ choices: [Schedule.Choice], _ fails: (Schedule) async -> Bool) async -> Bool {
    guard budget > 0 else { return false }
    budget -= 1
    return await fails(Schedule(choices))
  }
}
