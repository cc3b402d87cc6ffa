// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Chooses which ready job runs next, as a pure value.
struct Scheduler: Sendable {
  private enum Policy: Sendable {
    case steady
    case uniform(SeededGenerator)
    case priorities(PriorityScheduler)
    case replay(Schedule, position: Int)
  }

  private var policy: Policy
  /// The number of decisions so far: choices among at least two jobs.
  private(set) var decisions = 0
  /// The decisions that did not choose the default.
  private(set) var schedule = Schedule()
  private var last: Int?
  private var repetitions = 0

  /// Always chooses the default.
  static let steady = Scheduler(policy: .steady)

  static func uniform(seed: UInt64) -> Scheduler {
    Scheduler(policy: .uniform(SeededGenerator(seed: seed)))
  }

  static func priorities(seed: UInt64, depth: Int, length: Int) -> Scheduler {
    Scheduler(policy: .priorities(PriorityScheduler(seed: seed, depth: depth, length: length)))
  }

  static func replay(_ schedule: Schedule) -> Scheduler {
    Scheduler(policy: .replay(schedule, position: 0))
  }

  private init(policy: Policy) {
    self.policy = policy
  }

  /// Chooses the job to run.
  ///
  /// - Parameter ready: The tasks of the ready jobs, oldest job first and at least one; nil where it is not known.
  /// - Returns: The position of the job.
  mutating func choose(among ready: [Int?]) -> Int {
    let standard = standard(among: ready)
    let index = index(among: ready, standard: standard)
    repetitions = ready.count > 1 && ready[index] == last ? repetitions + 1 : 0
    last = ready[index]
    guard ready.count > 1 else { return 0 }
    if index != standard { schedule.choices.append(Schedule.Choice(decision: decisions, index: index)) }
    decisions += 1
    return index
  }

  /// The default: the task that ran last, as long as it is ready, else the job that has waited longest.
  ///
  /// A task that ran very often in a row while others were ready makes room, so that waiting by yielding does not block
  /// them.
  private func standard(among ready: [Int?]) -> Int {
    guard let last, repetitions < PriorityScheduler.patience else { return 0 }
    return ready.firstIndex(of: last) ?? 0
  }

  private mutating func index(among ready: [Int?], standard: Int) -> Int {
    switch policy {
    case .steady:
      return standard
    case .uniform(var generator):
      guard ready.count > 1 else { return 0 }
      defer { policy = .uniform(generator) }
      return Int.random(in: ready.indices, using: &generator)
    case .priorities(var priorities):
      defer { policy = .priorities(priorities) }
      return priorities.choose(among: ready)
    case .replay(let schedule, let position):
      guard ready.count > 1, position < schedule.choices.count, schedule.choices[position].decision == decisions else {
        return standard
      }
      policy = .replay(schedule, position: position + 1)
      return min(schedule.choices[position].index, ready.count - 1)
    }
  }
}
