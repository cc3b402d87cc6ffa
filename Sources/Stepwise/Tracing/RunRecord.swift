// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The latest state of each step of a run, stored by index so that a step costs a few bytes.
struct RunRecord {
  enum Phase {
    case idle, running, stage, undone
    case progress(Double)
    case retrying(attempt: Int)
    case finished(Duration)
  }

  /// The changes that are delivered to a subscriber.
  enum Key: Hashable, Sendable {
    case started
    case begun(Int)
    case latest(Int)
    case ended
    /// The overall progress.
    case overall
  }

  private(set) var steps: [Phase]
  private var errors: [Int: any Error] = [:]
  private var stages: [Int: any Sendable] = [:]
  private var begun: [Int: ContinuousClock.Instant] = [:]
  private(set) var current = 0
  private(set) var completeCount = 0
  private(set) var fraction = 0.0
  private(set) var ended: Outcome<any AnyBox>?
  /// What happened, with times.
  var log: RunLog
  /// Whether the run can no longer be observed, so that nothing is stored.
  private(set) var isForgotten = false

  /// The error of each step that has failed and not started again.
  var latestErrors: [Int: any Error] { errors }

  init(stepCount: Int, log: RunLog) {
    steps = Array(repeating: .idle, count: stepCount)
    self.log = log
  }

  /// Creates the record of a run that has no handle: only its log can be read.
  init(log: RunLog) {
    self.init(stepCount: 0, log: log)
    isForgotten = true
  }

  /// Errors and stages that are no longer stored.
  ///
  /// They are released outside the lock, because they belong to the user.
  struct Dropped {
    var error: (any Error)?
    var stage: (any Sendable)?
    var entry: RunLog.Entry?
  }

  /// - Parameters:
  ///   - index: The step.
  ///   - instant: The start, for a step that the run may abandon.
  /// - Returns: The values to release outside the lock.
  mutating func begin(_ index: Int, at instant: ContinuousClock.Instant? = nil) -> Dropped {
    if let instant { begun[index] = instant }
    if isComplete(index) { completeCount -= 1 }
    steps[index] = .running
    current = index
    return forget(index)
  }

  /// Returns nil when nothing changes, for example because the step has already ended.
  mutating func set(_ index: Int, to phase: Phase, error: (any Error)? = nil) -> Dropped? {
    var part = 0.0
    if case .progress(let fraction) = phase {
      guard isActive(index) else { return nil }
      part = fraction
    }
    if isComplete(index) { completeCount -= 1 }
    steps[index] = phase
    let dropped = forget(index)
    if let error { errors[index] = error }
    if isComplete(index) { completeCount += 1 }
    advance(within: part)
    return dropped
  }

  /// Whether a step has ended with a value; the work of a failed step remains to be done.
  private func isComplete(_ index: Int) -> Bool {
    guard case .finished = steps[index] else { return false }
    return errors.isEmpty || errors[index] == nil
  }

  private func isActive(_ index: Int) -> Bool {
    switch steps[index] {
    case .running, .progress, .retrying, .stage: true
    case .idle, .finished, .undone: false
    }
  }

  /// Returns nil when nothing changes: an abandoned step may reach a stage after it has ended.
  mutating func set(_ index: Int, stage: any Sendable) -> Dropped? {
    guard isActive(index) else { return nil }
    steps[index] = .stage
    return Dropped(stage: stages.updateValue(stage, forKey: index))
  }

  mutating func end(_ outcome: Outcome<any AnyBox>) {
    ended = outcome
    if case .resolved = outcome { fraction = 1 }
  }

  /// The steps that are running and that the run may abandon, and how long they have been running.
  func running(in steps: Range<Int>) -> [(Int, Duration)] {
    let now = ContinuousClock.now
    return begun.filter { steps.contains($0.key) && isActive($0.key) }.map { ($0.key, $0.value.duration(to: now)) }
  }

  /// Removes and returns everything that belongs to the user.
  mutating func forgetAll() -> RunRecord {
    exchange(&self, with: RunRecord(log: RunLog(stepCount: 0, capacity: 0)))
  }

  private mutating func forget(_ index: Int) -> Dropped {
    Dropped(
      error: errors.isEmpty ? nil : errors.removeValue(forKey: index),
      stage: stages.isEmpty ? nil : stages.removeValue(forKey: index)
    )
  }

  /// Advances the overall progress, which never decreases, even when steps are retried or undone.
  private mutating func advance(within part: Double) {
    fraction = max(fraction, min(1, (Double(completeCount) + part) / Double(max(1, steps.count))))
  }

  func event(for key: Key, _ names: [Int: String]) -> ChainEvent? {
    switch key {
    case .started: return .started
    case .ended: return ended.map { .ended($0.map(\.any)) }
    case .overall: return nil
    case .begun(let index): return .stepStarted(ChainStep(index: index, name: names[index]))
    case .latest(let index): return latest(ChainStep(index: index, name: names[index]))
    }
  }

  private func latest(_ step: ChainStep) -> ChainEvent? {
    switch steps[step.index] {
    case .idle, .running: nil
    case .progress(let fraction): .stepProgress(step, fraction)
    case .retrying(let attempt): .stepRetrying(step, attempt: attempt)
    case .stage: stages[step.index].map { .stageReached(step, $0) }
    case .finished(let duration): .stepFinished(step, duration: duration, error: errors[step.index])
    case .undone: .undone(step, error: errors[step.index])
    }
  }

  /// The changes that a new subscriber receives first: for each step, that it started and its latest state.
  var owed: [Key] {
    var keys = [Key.started]
    for (index, phase) in steps.enumerated() {
      switch phase {
      case .idle: break
      case .running: keys.append(.begun(index))
      case .progress, .retrying, .stage, .finished, .undone: keys += [.begun(index), .latest(index)]
      }
    }
    if ended != nil { keys.append(.ended) }
    return keys
  }
}
