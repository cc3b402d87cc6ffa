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

// MARK: - Parts of one run

/// The calls of `step` in flight in a run, or in a part of it, until it is closed.
///
/// The number of calls is stored above three flags. When a call ends as the last one, it closes what waits for it, so
/// that no further call can begin in between.
struct StepCalls: ~Copyable, Sendable {
  private static var closed: Int { 1 }
  private static var isAwaited: Int { 2 }
  private static var hasNoValue: Int { 4 }
  private static var call: Int { 8 }

  private let state = Atomic(0)
  private let waiter = Lock<Once<Void>?>(nil)

  var isClosed: Bool { state.load(ordering: .acquiring) & Self.closed != 0 }

  /// Whether it was closed with an error, or abandoned.
  var hasEndedWithoutValue: Bool {
    let end = Self.closed | Self.hasNoValue
    return state.load(ordering: .acquiring) & end == end
  }

  /// Counts a call that is about to begin; returns false when it may not begin any more.
  func begin() -> Bool {
    guard state.add(Self.call, ordering: .acquiringAndReleasing).oldValue & Self.closed != 0 else { return true }
    end()
    return false
  }

  /// A call has ended.
  func end() {
    let left = state.subtract(Self.call, ordering: .acquiringAndReleasing).newValue
    guard left & Self.isAwaited != 0, left < Self.call else { return }
    closeAwaited(left)
  }

  @inline(never)
  private func closeAwaited(_ state: Int) {
    guard close(from: state, to: (state | Self.closed) & ~Self.isAwaited) else { return }
    waiter.withLock { $0.take() }?.settle(())
  }

  private func close(from old: Int, to new: Int) -> Bool {
    state.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing).exchanged
  }

  /// Waits until no call is in flight, and then lets none begin any more.
  nonisolated(nonsending) func close(hasValue: Bool) async {
    let end = hasValue ? 0 : Self.hasNoValue
    if close(from: 0, to: end | Self.closed) { return }
    let last = Once<Void>()
    waiter.withLock { $0 = last }
    let state = state.bitwiseOr(end | Self.isAwaited, ordering: .acquiringAndReleasing).newValue
    if state < Self.call { closeAwaited(state) }
    await last.valueIgnoringCancellation()
  }

  /// Lets no further call begin, without waiting for those in flight.
  func abandon() { state.bitwiseOr(Self.closed | Self.hasNoValue, ordering: .acquiringAndReleasing) }
}

/// A part of a run that stores its own undos: one attempt of a step, or work that the run may abandon.
final class StepPart: Sendable {
  let execution: Execution
  /// The part around it in the same run.
  let outer: StepPart?
  let undos: UndoStack
  /// The calls of `step` in flight here; those in an attempt count where the attempt is.
  let calls = StepCalls()
  private let isAbandonable: Bool

  init(of execution: Execution, in outer: StepPart?, undos: UndoStack? = nil, isAbandonable: Bool = false) {
    self.execution = execution
    self.outer = outer
    self.undos = undos ?? UndoStack()
    self.isAbandonable = isAbandonable
  }

  private var parts: some Sequence<StepPart> { sequence(first: self, next: \.outer) }

  /// The innermost part here that is still awaited separately from what is around it.
  var counting: StepPart? { parts.first { $0.isAbandonable && !$0.calls.isClosed } }

  /// Whether the run has stopped waiting for the work here.
  var isAbandoned: Bool { parts.contains { $0.isAbandonable && $0.calls.hasEndedWithoutValue } }

  /// The run stops waiting for the work here.
  func abandon() {
    calls.abandon()
    CancellationCount.increment()
  }

  /// Passes the undos of what has completed here on to what is around it.
  nonisolated(nonsending) func end() async {
    await execution.adopt(undos.takeAll(closing: true).reversed(), in: outer)
  }
}

extension Execution {
  /// Stores how to undo steps that have completed: in a part of the run, or in the run.
  ///
  /// When the work there was abandoned, the run may be decided. Then they are undone immediately, unless the run has
  /// ended with a value.
  nonisolated(nonsending) func adopt(_ entries: [UndoStack.Entry], in part: StepPart?) async {
    guard !entries.isEmpty else { return }
    for part in sequence(first: part, next: { $0?.outer }) {
      guard let part else { break }
      if part.undos.push(entries) { return }
    }
    for execution in sequence(first: self, next: \.outer) {
      if execution.calls.begin() {
        defer { execution.calls.end() }
        if execution.undos.push(entries) { return }
      }
      if execution.calls.hasEndedWithoutValue { break }
      if execution.outer == nil { return }
    }
    await undoLate(UndoStack.Entry.newestFirst(entries))
  }
}
