// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides when runs that are together one step have ended it, and whether that ends the run that has the step.
struct ChildRunsMachine<Child> {
  enum Rule {
    /// The first error ends the step, or the last value.
    case all
    /// The first value ends the step, or the last error.
    case any
  }

  enum Ending {
    case none
    /// The step has ended, and something may follow.
    case step
    /// Nothing follows: what the step has ended with, the run ends with.
    case run
  }

  private let rule: Rule
  private let isLastWithValue: Bool
  private let isLastWithError: Bool
  private var running: [Child?]
  private var remaining: Int
  /// Which of them has ended the step.
  private(set) var decider: Int?

  /// - Parameters:
  ///   - count: How many runs there are.
  ///   - rule: What ends the step.
  ///   - isLastWithValue: Whether the run ends with this step if that has a value.
  ///   - isLastWithError: Whether the run ends with this step if that fails.
  init(count: Int, rule: Rule, isLastWithValue: Bool, isLastWithError: Bool) {
    running = Array(repeating: nil, count: count)
    remaining = count
    self.rule = rule
    self.isLastWithValue = isLastWithValue
    self.isLastWithError = isLastWithError
  }

  /// The first of those whose steps have not ended.
  var firstRunning: Child? {
    for case let child? in running { return child }
    return nil
  }

  mutating func begin(_ child: Child, at place: Int) { running[place] = child }

  /// The steps of one have ended; what follows them, undos and handlers, may still run.
  mutating func end(at place: Int, hasValue: Bool) -> Ending {
    guard running[place].take() != nil, decider == nil else { return .none }
    remaining -= 1
    guard remaining == 0 || hasValue == (rule == .any) else { return .none }
    decider = place
    return (hasValue ? isLastWithValue : isLastWithError) ? .run : .step
  }
}

/// The runs of chains that are together one step of a run.
final class ChildRuns: Sendable {
  private let machine: Lock<ChildRunsMachine<RunContext>>

  init(_ machine: sending ChildRunsMachine<RunContext>) {
    self.machine = Lock(machine)
  }

  var decider: Int? { machine.withLock { $0.decider } }
  var firstRunning: RunContext? { machine.withLock { $0.firstRunning } }

  func begin(_ child: RunContext, at place: Int) { machine.withLock { $0.begin(child, at: place) } }

  func end(at place: Int, hasValue: Bool) -> ChildRunsMachine<RunContext>.Ending {
    machine.withLock { $0.end(at: place, hasValue: hasValue) }
  }
}

/// One of them.
struct ChildRun: Sendable {
  /// The run that they are a step of.
  let outer: RunContext
  let siblings: ChildRuns
  let recorder: RunRecorder?
  /// Its place among them.
  let place: Int
  /// The index that events give to its first step.
  let firstStep: Int

  /// The one that follows this one, which is a run of a chain.
  func next(after chain: ChainCore) -> ChildRun {
    let next = firstStep + chain.program.stepCount
    return ChildRun(outer: outer, siblings: siblings, recorder: recorder, place: place + 1, firstStep: next)
  }
}
