// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Chooses which ready job runs next, as a pure value.
struct Scheduler: Sendable {
  enum Policy: Sendable {
    case uniform(SeededGenerator)
    case priorities(PriorityScheduler)
    case replay(Schedule, position: Int = 0)

    /// Always chooses the default.
    static let steady = replay(Schedule())
  }

  /// How often a task may run in a row while others are ready.
  private static let patience = 100

  private var policy: Policy
  /// The number of decisions so far: choices among at least two jobs.
  private(set) var decisions = 0
  /// The decisions that did not choose the default.
  private(set) var schedule = Schedule()
  private var last: Int?
  private var repetitions = 0

  init(_ policy: Policy) {
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
  /// A task that ran very often in a row while others were ready makes room: waiting by yielding does not block them.
  private func standard(among ready: [Int?]) -> Int {
    guard let last, repetitions < Self.patience else { return 0 }
    return ready.firstIndex(of: last) ?? 0
  }

  private mutating func index(among ready: [Int?], standard: Int) -> Int {
    switch policy {
    case .uniform(var generator):
      guard ready.count > 1 else { return 0 }
      defer { policy = .uniform(generator) }
      return Int.random(in: ready.indices, using: &generator)
    case .priorities(var priorities):
      defer { policy = .priorities(priorities) }
      return priorities.choose(among: ready, tired: repetitions + 1 < Self.patience ? nil : last)
    case .replay(let schedule, let position):
      guard ready.count > 1, position < schedule.choices.count, schedule.choices[position].decision == decisions else {
        return standard
      }
      policy = .replay(schedule, position: position + 1)
      return min(schedule.choices[position].index, ready.count - 1)
    }
  }
}

/// How a simulation chooses the next task: uniformly, or by priorities that find rarer bugs.
///
/// - ``uniform`` chooses each ready task with the same probability. It is the default, and it finds races that many
///   interleavings show.
/// - ``pct(depth:length:)`` gives each task a random priority, always runs the ready task with the highest one, and
///   changes priorities at a few random points. It finds bugs that need few but specific changes of order, which
///   uniform choice rarely produces in a long run.
public struct Scheduling: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case uniform
    case pct(depth: Int, length: Int?)
  }

  let kind: Kind

  /// Chooses each ready task with the same probability.
  public static let uniform = Scheduling(kind: .uniform)

  /// Chooses by random priorities with a few change points (probabilistic concurrency testing).
  ///
  /// A bug of depth *d* in a run of *k* steps of *n* tasks is found by one seed with a probability of at least 1 / (n ·
  /// k^(d-1)): S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte, "A Randomized Scheduler with Probabilistic
  /// Guarantees of Finding Bugs", ASPLOS 2010. Unlike the paper's scheduler, this one lowers the priority of a task
  /// that ran 100 times in a row while others were ready. A task that waits by yielding therefore does not block the
  /// others.
  ///
  /// - Parameters:
  ///   - depth: The number of ordering constraints that the bug needs; depth - 1 change points are chosen. Values below
  ///     1 count as 1, and those above 10,000 as 10,000.
  ///   - length: The number of steps among which the change points are chosen. When nil, the number of steps that the
  ///     body takes when each task runs as long as it is ready, which costs one more run of the body.
  /// - Returns: The scheduling.
  public static func pct(depth: Int, length: Int? = nil) -> Scheduling {
    Scheduling(kind: .pct(depth: min(max(1, depth), 10_000), length: length.map { max(1, $0) }))
  }

  func policy(seed: UInt64) -> Scheduler.Policy {
    switch kind {
    case .uniform: .uniform(SeededGenerator(seed: seed))
    case .pct(let depth, let length):
      .priorities(PriorityScheduler(seed: seed, depth: depth, length: length ?? 1_000))
    }
  }
}

extension Scheduling: CustomStringConvertible {
  /// The expression that makes this value.
  public var description: String {
    switch kind {
    case .uniform: ".uniform"
    case .pct(let depth, nil): ".pct(depth: \(depth))"
    case .pct(let depth, let length?): ".pct(depth: \(depth), length: \(length))"
    }
  }
}

/// The priorities of probabilistic concurrency testing; see ``Scheduling/pct(depth:length:)``.
struct PriorityScheduler: Sendable {
  private var generator: SeededGenerator
  private var priorities: [Int: Int] = [:]
  /// The steps after which the task that runs gets a lower priority, in ascending order.
  private var changePoints: ArraySlice<Int>
  private var steps = 0
  private var lowest = 0

  init(seed: UInt64, depth: Int, length: Int) {
    generator = SeededGenerator(seed: seed)
    var points: [Int] = []
    for _ in 1..<max(depth, 1) { points.append(Int.random(in: 1...max(length, 1), using: &generator)) }
    changePoints = points.sorted()[...]
  }

  /// Chooses the job to run; a task that ran very often in a row gets a lower priority where it would run again.
  mutating func choose(among ready: [Int?], tired: Int?) -> Int {
    var index = highest(of: ready)
    steps += 1
    while let point = changePoints.first, point <= steps {
      changePoints.removeFirst()
      demote(ready[index])
      index = highest(of: ready)
    }
    if let tired, ready.count > 1, ready[index] == tired {
      demote(tired)
      index = highest(of: ready)
    }
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

/// The scheduling decisions of a simulation that differ from the default, which lets a task run as long as it is ready.
///
/// A decision is made where at least two tasks are ready. Decisions are counted from 0, and so are the ready tasks,
/// from the task that has waited longest.
struct Schedule: Sendable, Hashable {
  struct Choice: Sendable, Hashable {
    let decision: Int
    let index: Int
  }

  /// In the order of the decisions.
  var choices: [Choice] = []
}

extension Schedule: CustomStringConvertible {
  /// For instance `3:1 7:2`: at decision 3 the second of the ready tasks runs, at decision 7 the third.
  var description: String {
    choices.map { "\($0.decision):\($0.index)" }.joined(separator: " ")
  }

  /// Reads what `description` writes.
  init(parsing text: String) throws(SimulationError) {
    var choices: [Choice] = []
    for word in text.split(whereSeparator: \.isWhitespace) {
      let numbers = word.split(separator: ":", omittingEmptySubsequences: false).map { Int($0) }
      guard numbers.count == 2, let decision = numbers[0], let index = numbers[1], decision >= 0, index >= 0,
        decision > choices.last?.decision ?? -1
      else { throw .invalidSchedule(text) }
      choices.append(Choice(decision: decision, index: index))
    }
    self.init(choices: choices)
  }
}

/// A random number generator for repeatable tests: the same seed returns the same numbers.
///
/// Pass one to a policy with jitter, and your test sees the same delays each time. It is SplitMix64: G. Steele, D. Lea,
/// C. Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014, with the constants of S. Vigna's
/// `splitmix64.c` (public domain, https://prng.di.unimi.it/splitmix64.c). Every seed is a good one, and neighbouring
/// seeds give unrelated numbers. It is not for secrets.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// Makes the generator of a seed.
  public init(seed: UInt64) {
    state = seed
  }

  /// Returns the next number, any of all 2^64 with equal chance.
  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
