// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The latest state of each step of a run, kept by index so that a step costs a few bytes.
struct RunRecord {
  enum Phase {
    case idle, running, progress, retrying, stage, finished, undone
  }

  /// What a consumer can be owed.
  enum Key: Hashable, Sendable {
    case started
    case begun(Int)
    case latest(Int)
    case ended
    /// The overall progress.
    case overall
  }

  struct Step {
    var phase = Phase.idle
    /// Seconds or a fraction, whichever the phase has, or a number of attempts.
    var figure = 0.0
  }

  private(set) var steps: [Step]
  private var errors: [Int: any Error] = [:]
  private var stages: [Int: any Sendable] = [:]
  private(set) var current = 0
  private(set) var completeCount = 0
  private(set) var fraction = 0.0
  private(set) var ended: (@Sendable () -> ChainState)?

  init(stepCount: Int) {
    steps = Array(repeating: Step(), count: stepCount)
  }

  mutating func begin(_ index: Int) {
    if isComplete(index) { completeCount -= 1 }
    steps[index] = Step(phase: .running)
    forget(index)
    current = index
  }

  /// Returns whether there was anything to change: a report that comes after its step has ended is late.
  mutating func set(_ index: Int, to phase: Phase, figure: Double, error: (any Error)? = nil) -> Bool {
    if phase == .progress, !isActive(index) { return false }
    if isComplete(index) { completeCount -= 1 }
    steps[index] = Step(phase: phase, figure: figure)
    forget(index)
    if let error { errors[index] = error }
    if isComplete(index) { completeCount += 1 }
    advance(within: phase == .progress ? figure : 0)
    return true
  }

  /// Whether a step has ended with a value: one that failed leaves its part of the work to be done.
  private func isComplete(_ index: Int) -> Bool {
    steps[index].phase == .finished && (errors.isEmpty || errors[index] == nil)
  }

  private func isActive(_ index: Int) -> Bool {
    switch steps[index].phase {
    case .running, .progress, .retrying, .stage: true
    case .idle, .finished, .undone: false
    }
  }

  mutating func set(_ index: Int, stage: any Sendable) {
    steps[index].phase = .stage
    stages[index] = stage
  }

  mutating func end(withValue hasValue: Bool, _ state: @escaping @Sendable () -> ChainState) {
    ended = state
    if hasValue { fraction = 1 }
  }

  private mutating func forget(_ index: Int) {
    if !errors.isEmpty { errors[index] = nil }
    if !stages.isEmpty { stages[index] = nil }
  }

  /// The overall progress never goes back, also when steps are tried again or undone.
  private mutating func advance(within part: Double) {
    fraction = max(fraction, min(1, (Double(completeCount) + part) / Double(max(1, steps.count))))
  }

  func event(for key: Key, named name: (Int) -> String?) -> ChainEvent? {
    switch key {
    case .started: return .started
    case .ended: return ended.map { .ended($0()) }
    case .overall: return nil
    case .begun(let index): return .stepStarted(ChainStep(index: index, name: name(index)))
    case .latest(let index): return latest(ChainStep(index: index, name: name(index)))
    }
  }

  private func latest(_ step: ChainStep) -> ChainEvent? {
    let record = steps[step.index]
    switch record.phase {
    case .idle, .running: return nil
    case .progress: return .stepProgress(step, record.figure)
    case .retrying: return .stepRetrying(step, attempt: Int(record.figure))
    case .stage: return stages[step.index].map { .stageReached(step, $0) }
    case .finished: return .stepFinished(step, duration: .seconds(record.figure), error: errors[step.index])
    case .undone: return .undone(step, error: errors[step.index])
    }
  }

  /// What somebody who comes now is owed: per step, that it began and its latest state.
  var owed: [Key] {
    var keys = [Key.started]
    for (index, step) in steps.enumerated() where step.phase != .idle {
      keys.append(.begun(index))
      if step.phase != .running { keys.append(.latest(index)) }
    }
    if ended != nil { keys.append(.ended) }
    return keys
  }
}
