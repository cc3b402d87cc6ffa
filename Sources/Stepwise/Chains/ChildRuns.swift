// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides when the runs that form one step have ended it, and whether that ends the run that contains the step.
struct ChildRunsMachine<Child> {
  enum Rule {
    /// The first error ends the step; otherwise the last value does.
    case all
    /// The first value ends the step; otherwise the last error does.
    case any
  }

  enum Ending {
    case none
    /// The step has ended, and more may follow.
    case step
    /// Nothing follows: the run ends with the outcome of the step.
    case run
  }

  private let rule: Rule
  private let isLastWithValue: Bool
  private let isLastWithError: Bool
  private var running: [Child?]
  private var remaining: Int
  /// The position of the run that ended the step.
  private(set) var decider: Int?

  /// - Parameters:
  ///   - count: The number of runs.
  ///   - rule: What ends the step.
  ///   - isLastWithValue: Whether the run ends with this step if the step has a value.
  ///   - isLastWithError: Whether the run ends with this step if the step fails.
  init(count: Int, rule: Rule, isLastWithValue: Bool, isLastWithError: Bool) {
    running = Array(repeating: nil, count: count)
    remaining = count
    self.rule = rule
    self.isLastWithValue = isLastWithValue
    self.isLastWithError = isLastWithError
  }

  /// The first run whose steps have not ended.
  var firstRunning: Child? {
    for case let child? in running { return child }
    return nil
  }

  mutating func begin(_ child: Child, at place: Int) { running[place] = child }

  /// The steps of a run have ended; its undos and handlers may still run.
  mutating func end(at place: Int, hasValue: Bool) -> Ending {
    guard running[place].take() != nil, decider == nil else { return .none }
    remaining -= 1
    guard remaining == 0 || hasValue == (rule == .any) else { return .none }
    decider = place
    return (hasValue ? isLastWithValue : isLastWithError) ? .run : .step
  }
}

/// The runs of chains that together form one step of a run.
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

/// One of the runs that form a step.
struct ChildRun: Sendable {
  /// The run that contains the step.
  let outer: RunContext
  let siblings: ChildRuns
  let recorder: RunRecorder?
  /// Its position among them.
  let place: Int
  /// The index of its first step in events.
  let firstStep: Int

  /// Returns the child that follows this one, which is a run of the given chain.
  func next(after chain: ChainCore) -> ChildRun {
    let next = firstStep + chain.program.stepCount
    return ChildRun(outer: outer, siblings: siblings, recorder: recorder, place: place + 1, firstStep: next)
  }
}
