// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// Decides which of the chains that form one step decides that step.
struct ForkMachine<Branch> {
  enum Rule {
    /// The first error ends the step; otherwise the last value does.
    case all
    /// The first value ends the step; otherwise the last error does.
    case any
  }

  private enum State {
    case waiting
    case running(Branch)
    case ended

    var branch: Branch? { if case .running(let branch) = self { branch } else { nil } }
    var hasEnded: Bool { if case .ended = self { true } else { false } }
  }

  let rule: Rule
  private var branches: [State]
  /// The position of the branch that decided the step.
  private(set) var decider: Int?

  /// - Parameters:
  ///   - count: The number of branches.
  ///   - rule: What ends the step.
  ///   - decider: The branch that has decided it in an earlier run.
  init(count: Int, rule: Rule, decider: Int? = nil) {
    branches = Array(repeating: .waiting, count: count)
    self.rule = rule
    self.decider = decider
  }

  /// The first branch whose steps run.
  var firstRunning: Branch? {
    for case .running(let branch) in branches { return branch }
    return nil
  }

  mutating func begin(_ branch: Branch, at place: Int) { branches[place] = .running(branch) }

  /// The steps of a branch have ended; its undos and handlers may still run.
  ///
  /// - Returns: Whether the branch decides the step.
  mutating func end(at place: Int, hasValue: Bool) -> Bool {
    guard !branches[place].hasEnded else { return false }
    branches[place] = .ended
    guard decider == nil, hasValue == (rule == .any) || branches.allSatisfy(\.hasEnded) else { return false }
    decider = place
    return true
  }
}

/// The chains that together form one step of a run.
final class Fork: Sendable {
  /// What the chains are to the run that contains the step.
  let nesting: RunRecord.Nesting
  private let machine: Lock<ForkMachine<Execution>>
  /// The position of the branch that decided the step; -1 before.
  private let decidedBy = Atomic(-1)
  /// Settled with the decision, where a branch may go on after it.
  let decision: Once<Void>?
  /// Its place in the journal of the run, if there is one.
  let place: JournalPlace?
  /// Whether the decision was stored by an earlier run, before the branches replay what led to it.
  private let isReplayed: Bool

  init(_ chains: [ChainCore], _ nesting: RunRecord.Nesting, in journal: (any RunJournal)?) {
    self.nesting = nesting
    place = journal?.open("\(nesting)")
    let decider = place.flatMap { journal?.decision(at: $0) }
    isReplayed = decider != nil
    if let decider { decidedBy.store(decider, ordering: .relaxed) }
    machine = Lock(ForkMachine(count: chains.count, rule: nesting == .race ? .any : .all, decider: decider))
    decision = chains.count > 1 && chains.contains { !$0.endsWithItsSteps } ? Once() : nil
  }

  var decider: Int? {
    let place = decidedBy.load(ordering: .acquiring)
    return place < 0 ? nil : place
  }

  var firstRunning: Execution? { machine.withLock { $0.firstRunning } }

  /// Whether the branches that have not ended can be cancelled.
  func isDecided(_ hasEnded: (Int) -> Bool) -> Bool { decider.map { !isReplayed || hasEnded($0) } ?? false }

  /// Whether another branch has decided the step, so that this one begins no further step.
  func isLost(at place: Int) -> Bool { decider.map { $0 != place } ?? false }

  func begin(_ branch: Execution, at place: Int) { machine.withLock { $0.begin(branch, at: place) } }

  /// The steps of a branch have ended; does nothing when they have before.
  func end(at place: Int, hasValue: Bool) {
    guard machine.withLock({ $0.end(at: place, hasValue: hasValue) }) else { return }
    decidedBy.store(place, ordering: .releasing)
    CancellationCount.increment()
    decision?.settle(())
  }
}

/// The relation of a run to the run that contains it as a step.
struct Child: Sendable {
  let outer: Execution
  let fork: Fork
  let recording: Recording?
  /// Its position among the branches.
  let place: Int
  /// The index of its first step in events.
  let firstStep: Int

  /// Returns the child that follows this one, which is a run of the given program.
  func next(after program: Program) -> Child {
    let next = firstStep + program.stepCount
    return Child(outer: outer, fork: fork, recording: recording, place: place + 1, firstStep: next)
  }
}
