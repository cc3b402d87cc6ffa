// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Decides when the runs that form one step have ended it.
struct ChildRunsMachine<Child> {
  enum Rule {
    /// The first error ends the step; otherwise the last value does.
    case all
    /// The first value ends the step; otherwise the last error does.
    case any
  }

  enum Ending {
    case none
    /// The step has ended.
    case step
  }

  let rule: Rule
  private var running: [Child?]
  private var remaining: Int
  /// The position of the run that ended the step.
  private(set) var decider: Int?

  /// - Parameters:
  ///   - count: The number of runs.
  ///   - rule: What ends the step.
  init(count: Int, rule: Rule) {
    running = Array(repeating: nil, count: count)
    remaining = count
    self.rule = rule
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
    return .step
  }
}

/// The runs of chains that together form one step of a run.
final class ChildRuns: Sendable {
  private let machine: Lock<ChildRunsMachine<RunContext>>
  private let rule: ChildRunsMachine<RunContext>.Rule
  private let program: Program
  /// The position of the step in the program.
  private let position: Int
  /// Whether a `retry` around the step has attempts left.
  private let isRetried: Bool
  /// The time limit around the step.
  let limit: CoveredSteps?

  init(
    _ machine: sending ChildRunsMachine<RunContext>,
    at position: Int,
    of program: Program,
    isRetried: Bool,
    under limit: CoveredSteps?
  ) {
    rule = machine.rule
    self.machine = Lock(machine)
    self.program = program
    self.position = position
    self.isRetried = isRetried
    self.limit = limit
  }

  /// What the runs are to the run that contains the step.
  var nesting: RunLog.Nesting {
    guard case .chains(let chains, _, _) = program.operations[position].node.part else { return .none }
    return rule == .any ? .race : chains.cores.count > 1 ? .zip : .chain
  }

  var decider: Int? { machine.withLock { $0.decider } }
  var firstRunning: RunContext? { machine.withLock { $0.firstRunning } }

  func begin(_ child: RunContext, at place: Int) { machine.withLock { $0.begin(child, at: place) } }

  func end(at place: Int, hasValue: Bool) -> ChildRunsMachine<RunContext>.Ending {
    machine.withLock { $0.end(at: place, hasValue: hasValue) }
  }

  /// Whether the run that contains the step ends with the value of the step.
  var isLastWithValue: Bool { position >= program.lastStep }

  /// Decides whether the run that contains the step ends with its error.
  ///
  /// - Parameter error: The error of the run that ended the step; nil when the step may end with another one.
  /// - Returns: Whether nothing that follows replaces the error.
  func isLast(withError error: (any Error)?) -> Bool {
    !isRetried && !program.mayRecover(from: keepsError ? error : nil, at: position)
  }

  /// Whether the run that contains the step ends with the error of the run that ended the step, if nothing follows.
  var passesErrorOn: Bool { keepsError && !program.isLimited(at: position) }

  /// A race ends with an error of its own.
  private var keepsError: Bool { rule == .all }
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

  /// Returns the child that follows this one, which is a run of the given program.
  func next(after program: Program) -> ChildRun {
    let next = firstStep + program.stepCount
    return ChildRun(outer: outer, siblings: siblings, recorder: recorder, place: place + 1, firstStep: next)
  }
}
