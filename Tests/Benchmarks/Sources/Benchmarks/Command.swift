// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What the arguments select.
enum Command: Sendable {
  case tables(Effort)
  case smoke
  case bounds([Bounded])
  case allocations
  case memory
  case memoryOf(MemoryCheck)
  case profile(form: String, steps: Int)

  static let help = """
    swift run -c release Benchmarks             medians and ratios, for 1 to 10,000 steps
    swift run -c release Benchmarks --smoke     the same and the rest, in a few seconds and with no regard to noise
    swift run -c release Benchmarks --bounds    what is promised, as the median of three runs; fails when it is broken
    swift run -c release Benchmarks --bounds WHAT
                                                of chains, steps, concurrency, progressions, checkpoints, jobs or http only
    swift run -c release Benchmarks --allocations
                                                calls of malloc per operation; fails above a limit
    swift run -c release Benchmarks --memory    a million steps, built, run and released; fails when a bound is broken
    swift run -c release Benchmarks --profile FORM [STEPS]
                                                one form for ten seconds, to look at with a profiler
    """

  init?(_ arguments: some Collection<String>) {
    var arguments = Array(arguments)
    guard let name = arguments.first else {
      self = .tables(.full)
      return
    }
    arguments.removeFirst()
    switch (name, arguments.count) {
    case ("--smoke", 0): self = .smoke
    case ("--bounds", 0): self = .bounds(Bounded.allCases)
    case ("--bounds", 1):
      guard let bound = Bounded(rawValue: arguments[0]) else { return nil }
      self = .bounds([bound])
    case ("--allocations", 0): self = .allocations
    case ("--memory", 0): self = .memory
    case (MemoryCheck.option, 2):
      guard let check = MemoryCheck(arguments) else { return nil }
      self = .memoryOf(check)
    case ("--profile", 1): self = .profile(form: arguments[0], steps: 3)
    case ("--profile", 2):
      guard let steps = Int(arguments[1]), steps > 0 else { return nil }
      self = .profile(form: arguments[0], steps: steps)
    default: return nil
    }
  }

  /// Returns whether all that is promised holds.
  func perform() async throws -> Bool {
    switch self {
    case .tables(let effort):
      try await printTables(effort: effort)
      try await printStepTables(effort: effort)
      try await printProgressionTables(effort: effort)
      return true
    case .smoke:
      try await printTables(effort: .smoke)
      try await printStepTables(effort: .smoke)
      try await printProgressionTables(effort: .smoke)
      for bound in Bounded.allCases { _ = try await bound.check(.smoke) }
      _ = try await checkAllocations(operations: 100)
      try await checkTimeLimitsInEachIsolation(steps: 10_000)
      guard try await checkStepMemory(steps: 200_000) else { return false }
      return try MemoryCheck.all(steps: 100_000).allSatisfy { try $0.performApart() }
    case .bounds(let bounds):
      var areKept = true
      for bound in bounds where try await !bound.check(.full) { areKept = false }
      return areKept
    case .allocations:
      return try await checkAllocations()
    case .memory:
      var isGood = true
      // Before the others, so that the peak is theirs.
      if try await !checkProgressionMemory() { isGood = false }
      if try await !checkStepMemory(steps: 1_000_000) { isGood = false }
      if try await !checkJobMemory() { isGood = false }
      if try await !checkFlowMemory() { isGood = false }
      for check in MemoryCheck.all(steps: 1_000_000) where try !check.performApart() { isGood = false }
      return isGood
    case .memoryOf(let check):
      return try await check.perform()
    case .profile(let form, let steps):
      return try await repeatForms(named: form, steps: steps)
    }
  }
}

/// Returns whether there is such a form.
private func repeatForms(named name: String, steps: Int) async throws -> Bool {
  let forms =
    (Forms(.async, steps: steps).all + ProgressionForms(stages: steps).all + ProgressionForms(maxConcurrent: 4).all
    + JobForms().all + StepForms().all + AllocationForm.all.map(\.form))
    .filter { $0.name == name }
  for form in forms {
    let start = ContinuousClock.now
    while start.duration(to: .now) < .seconds(10) { try await form.work(1_000) }
  }
  if forms.isEmpty { print("There are: \(Forms(.async, steps: 1).all.map(\.name).joined(separator: ", "))") }
  return !forms.isEmpty
}
