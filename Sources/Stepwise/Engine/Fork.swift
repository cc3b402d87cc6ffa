// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// A branch that has a value, with its type erased.
struct FinishedBranch: Sendable {
  let output: any AnyBox
  let undos: [UndoStack.Undo]

  /// The output of the branch's chain, whose type the caller knows.
  func output<Output: Sendable>(as type: Output.Type) -> Output {
    // Safety: a branch boxes the output of its own chain and is read with that chain's output type; debug builds
    // check it.
    unsafeDowncast(output, to: Box<Output>.self).value
  }
}

/// One of the chains that form a step.
enum BranchState<Branch> {
  case waiting
  case running(Branch)
  /// Its steps have ended; it has a result after its undos and handlers.
  case ended(Result<FinishedBranch, any Error>?)

  var hasEnded: Bool { if case .ended = self { true } else { false } }
  var result: Result<FinishedBranch, any Error>? { if case .ended(let result) = self { result } else { nil } }
  var value: FinishedBranch? { try? result?.get() }
}

/// Decides which of the chains that form one step decides that step.
struct ForkMachine<Branch> {
  /// In a race, the first value or the last error decides; otherwise the first error or the last value.
  private let isRace: Bool
  private(set) var branches: [BranchState<Branch>]
  /// How many branches have ended; looking at each of them at every end would cost the square of their number.
  private var endedCount = 0
  /// The index of the branch that decided the step.
  private(set) var decider: Int?
  /// Whether the decision is stored, so that it may have effects.
  private var isPublished: Bool

  /// Creates the state of branches of which one may have decided the step in an earlier run.
  init(count: Int, isRace: Bool, decider: Int? = nil) {
    branches = Array(repeating: .waiting, count: count)
    self.isRace = isRace
    self.decider = decider
    isPublished = decider != nil
  }

  var firstRunning: Branch? {
    for case .running(let branch) in branches { return branch }
    return nil
  }

  /// Returns whether the branch has lost before its first step.
  mutating func begin(_ branch: Branch, at index: Int) -> Bool {
    branches[index] = .running(branch)
    return isPublished && decider != index
  }

  /// The decision is stored; returns the branches that have lost.
  mutating func publish() -> [Branch] {
    isPublished = true
    return branches.enumerated().compactMap { index, state in
      if index != decider, case .running(let branch) = state { branch } else { nil }
    }
  }

  mutating func takeBranches() -> [BranchState<Branch>] { exchange(&branches, with: []) }

  /// The steps of a branch have ended, or the branch as well; returns whether it decides the step.
  mutating func end(at index: Int, hasValue: Bool, with result: Result<FinishedBranch, any Error>? = nil) -> Bool {
    let hadEnded = branches[index].hasEnded
    branches[index] = .ended(result)
    guard !hadEnded else { return false }
    endedCount += 1
    guard decider == nil, hasValue == isRace || endedCount == branches.count else { return false }
    decider = index
    return true
  }
}

/// The chains that together form one step of a run.
final class Fork: Sendable {
  /// What the chains are to the run that contains the step.
  let nesting: RunRecord.Nesting
  private let machine: Lock<ForkMachine<Execution>>
  /// The index of the branch that decided the step.
  private let decision = OnceCell<Int>()
  /// Its key in the journal of the run, if there is one.
  let key: JournalKey?
  private let journal: (any RunJournal)?
  /// Whether the decision was stored by an earlier run: the branches still replay what led to it, and what they did
  /// until they noticed.
  let isReplayed: Bool

  init(_ chains: [ChainCore], _ nesting: RunRecord.Nesting, in journal: (any RunJournal)?) {
    self.nesting = nesting
    self.journal = journal
    key = journal?.open("\(nesting)")
    let decider = key.flatMap { journal?.decision(at: $0) }
    isReplayed = decider != nil
    if let decider { decision.settle(decider) }
    machine = Lock(ForkMachine(count: chains.count, isRace: nesting == .race, decider: decider))
  }

  var decider: Int? { decision.settled }

  /// Waits until a branch has decided the step, or until what an earlier run did until then has been replayed.
  @concurrent func decided() async {
    guard isReplayed, let journal, let key else { return _ = await decision.value() }
    await journal.replayed(in: key)
  }

  var hasDeciderEnded: Bool { decider.map { index in machine.withLock { $0.branches[index].result != nil } } ?? false }

  /// Removes the branches, which have all ended: what they returned is not retained until the run ends.
  func takeBranches() -> [BranchState<Execution>] { machine.withLock { $0.takeBranches() } }

  var firstRunning: Execution? { machine.withLock { $0.firstRunning } }

  /// Whether another branch has decided the step, so that this one begins no further step.
  func isLost(at index: Int) -> Bool { decider.map { $0 != index } ?? false }

  /// A branch begins; returns the request that cancels one that has lost before its first step.
  func begin(_ branch: Execution, at index: Int) -> CancellationRequest? {
    machine.withLock { $0.begin(branch, at: index) } ? loss : nil
  }

  private var loss: CancellationRequest { CancellationRequest(nesting == .race ? .fasterBranch : .failedBranch) }

  /// The steps of a branch have ended, or the branch as well; one that was refused has no steps.
  func end(at index: Int, hasValue: Bool, with result: Result<FinishedBranch, any Error>? = nil) {
    guard machine.withLock({ $0.end(at: index, hasValue: hasValue, with: result) }) else { return }
    // Before the others notice: what they store afterwards follows from it.
    if let journal, let key { journal.store(decision: index, at: key) }
    for branch in machine.withLock({ $0.publish() }) { branch.cancel(loss) }
    decision.settle(index)
  }
}

/// The relation of a run to the run that contains it as a step.
struct Child: Sendable {
  let outer: Execution
  let fork: Fork
  let recording: Recording?
  /// Its index among the branches.
  let branch: Int
  /// The index of its first step in events.
  let firstStep: Int

  /// Returns the child that follows this one, which is a run of the given chain.
  func next(after chain: ChainCore) -> Child {
    let next = firstStep + chain.stepCount
    return Child(outer: outer, fork: fork, recording: recording, branch: branch + 1, firstStep: next)
  }
}

// MARK: - Scopes of steps

/// Steps of a run that may fail although the run continues: an attempt, or work that the run may abandon.
final class StepScope: Sendable {
  let execution: Execution
  /// The scope around it in the same run.
  let outer: StepScope?
  let undos = UndoStack()
  /// The calls of `step` in flight here; those in an attempt count where the attempt is.
  let calls = InFlightCounter()
  private let isAbandonable: Bool
  /// The innermost scope around it that the run may abandon.
  private let abandonable: StepScope?
  private let hasFailed = Atomic(false)
  /// Of a scope that the run may abandon, those inside that have not ended, which the run would not wait for.
  private let inner = Lock<[ObjectIdentifier: StepScope]>([:])

  init(of execution: Execution, in outer: StepScope?, isAbandonable: Bool = false) {
    self.execution = execution
    self.outer = outer
    self.isAbandonable = isAbandonable
    abandonable = outer.flatMap { $0.isAbandonable ? $0 : $0.abandonable }
    abandonable?.inner.withLock { $0[ObjectIdentifier(self)] = self }
  }

  /// This scope and those around it.
  fileprivate var scopes: some Sequence<StepScope> { sequence(first: self, next: \.outer) }

  /// This scope and those around it that the run may abandon.
  private var abandonables: some Sequence<StepScope> {
    sequence(first: isAbandonable ? self : abandonable, next: { $0?.abandonable }).lazy.compactMap(\.self)
  }

  /// The innermost scope here that is still awaited separately from what is around it.
  var counting: StepScope? { abandonables.first { !$0.calls.isClosed } }

  /// Whether the run has stopped waiting for the work here.
  var isAbandoned: Bool { abandonables.contains { $0.calls.hasEndedWithoutValue } }

  /// The run stops waiting for the work here.
  func abandon() {
    calls.abandon()
    execution.cancelAbandoned()
  }

  /// Whether what completes here now is undone at once.
  fileprivate var isOver: Bool {
    // Without the first check, attempts nested thousands deep take quadratic time.
    let hasFailed = execution.hasFailedScope.load(ordering: .acquiring)
    return isAbandoned || hasFailed && scopes.contains { $0.hasFailed.load(ordering: .acquiring) }
  }

  /// The work here has failed: undoes what it has completed, shielded from cancellation.
  func fail(_ recording: Recording?) async {
    hasFailed.store(true, ordering: .releasing)
    execution.hasFailedScope.store(true, ordering: .releasing)
    await execution.undoShielded(UndoStack.Undo.newestFirst(takeUndos()), recording: recording)
  }

  /// Passes the undos of what has completed here on to what is around it.
  func end() async { await execution.adopt(takeUndos(), in: outer) }

  private func takeUndos() -> [UndoStack.Undo] {
    _ = abandonable?.inner.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) }
    guard isAbandonable else { return undos.close() }
    var (scopes, undos) = ([self], [UndoStack.Undo]())
    while let scope = scopes.popLast() {
      undos += scope.undos.close()
      scopes += scope.inner.withLock { exchange(&$0, with: [:]).values }
    }
    return undos
  }
}

extension Execution {
  /// Stores how to undo steps that have completed: in a scope of the run, or in the run.
  ///
  /// What completes late, in a scope that has failed or was abandoned, or in a run that has ended without a value, is
  /// undone at once.
  func adopt(_ undos: [UndoStack.Undo], in stepScope: StepScope?) async {
    guard !undos.isEmpty else { return }
    func isOver() -> Bool { stepScope?.isOver ?? false }
    if let stepScope, stepScope.scopes.contains(where: { $0.undos.push(undos, unless: isOver) }) { return }
    for execution in sequence(first: self, next: \.outer) where !isOver() {
      if execution.calls.begin() {
        defer { execution.calls.end() }
        if execution.undos.push(undos, unless: isOver) { return }
      }
      if execution.calls.hasEndedWithoutValue { break }
      if execution.outer == nil, !isOver() { return }
    }
    let late = UndoStack.Undo.newestFirst(undos)
    // The run awaits what it has not abandoned, so that its handlers receive the failures.
    if isOver(), stepScope?.isAbandoned == false { return await undoShielded(late, recording: recording) }
    await undoLate(late)
  }
}
