// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The priorities of probabilistic concurrency testing; see ``Scheduling/pct(depth:length:)``.
struct PriorityScheduler: Sendable {
  /// How often a task may run in a row while others are ready.
  static let patience = 100

  private var generator: SeededGenerator
  private var priorities: [Int: Int] = [:]
  /// The steps after which the task that runs gets a lower priority, in ascending order.
  private var changePoints: [Int]
  private var steps = 0
  private var lowest = 0
  private var last: Int?
  private var repetitions = 0

  init(seed: UInt64, depth: Int, length: Int) {
    generator = SeededGenerator(seed: seed)
    var points: [Int] = []
    for _ in 1..<max(depth, 1) { points.append(Int.random(in: 1...max(length, 1), using: &generator)) }
    changePoints = points.sorted()
  }

  mutating func choose(among ready: [Int?]) -> Int {
    var index = highest(of: ready)
    steps += 1
    while let point = changePoints.first, point <= steps {
      changePoints.removeFirst()
      demote(ready[index])
      index = highest(of: ready)
    }
    repetitions = ready[index] == last && ready.count > 1 ? repetitions + 1 : 0
    if repetitions >= Self.patience {
      demote(ready[index])
      index = highest(of: ready)
      repetitions = 0
    }
    last = ready[index]
    return index
  }

  private mutating func highest(of ready: [Int?]) -> Int {
    var (best, bestPriority) = (0, Int.min)
    for (index, task) in ready.enumerated() {
      let priority = priority(of: task)
      if priority > bestPriority { (best, bestPriority) = (index, priority) }
    }
    return best
  }

  /// The priority of a task, chosen at random when it is seen first; unknown tasks share one.
  private mutating func priority(of task: Int?) -> Int {
    let key = task ?? -1
    if let known = priorities[key] { return known }
    let priority = Int.random(in: 1...Int(Int32.max), using: &generator)
    priorities[key] = priority
    return priority
  }

  private mutating func demote(_ task: Int?) {
    lowest -= 1
    priorities[task ?? -1] = lowest
  }
}
