// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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

/// How far one of the branches of a fork is.
enum BranchState<Run> {
  case notBegun
  case running(Run)
  /// Its steps have ended; it has a result after its undos and handlers.
  case ended(Result<FinishedBranch, any Error>?)

  var hasEnded: Bool { if case .ended = self { true } else { false } }
  var result: Result<FinishedBranch, any Error>? { if case .ended(let result) = self { result } else { nil } }
  var value: FinishedBranch? { try? result?.get() }
}

/// Decides which of the branches of a fork decides the step that they form.
struct ForkMachine<Run> {
  /// In a race, the first value or the last error decides; otherwise the first error or the last value.
  private let isRace: Bool
  private(set) var branches: [BranchState<Run>]
  /// How many branches have ended; looking at each of them at every end would cost the square of their number.
  private var endedCount = 0
  /// The index of the branch that decided the step.
  private(set) var decider: Int?

  init(count: Int, isRace: Bool) {
    branches = Array(repeating: .notBegun, count: count)
    self.isRace = isRace
  }

  var firstRunning: Run? {
    for case .running(let run) in branches { return run }
    return nil
  }

  /// Returns whether the branch has lost before its first step.
  mutating func begin(_ run: Run, at index: Int) -> Bool {
    branches[index] = .running(run)
    return decider != nil && decider != index
  }

  /// The runs of the branches that have lost.
  var losers: [Run] {
    branches.enumerated().compactMap { index, state in
      if index != decider, case .running(let run) = state { run } else { nil }
    }
  }

  mutating func takeBranches() -> [BranchState<Run>] { exchange(&branches, with: []) }

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
final class Fork<Run: Sendable>: Sendable {
  /// What the chains are to the run that contains the step.
  let nesting: RunRecord.Nesting
  private let machine: Lock<ForkMachine<Run>>
  private let cancel: @Sendable (Run, CancellationRequest) -> Void
  /// The index of the branch that decided the step.
  private let decision = OnceCell<Int>()
  /// Its key in the journal of the run, if there is one.
  let journalKey: JournalKey?

  init(
    branchCount: Int,
    _ nesting: RunRecord.Nesting,
    in journal: (any RunJournal)?,
    cancel: @escaping @Sendable (Run, CancellationRequest) -> Void
  ) {
    self.nesting = nesting
    self.cancel = cancel
    journalKey = journal?.open("\(nesting)")
    machine = Lock(ForkMachine(count: branchCount, isRace: nesting == .race))
  }

  var decider: Int? { decision.settled }

  /// Waits until a branch has decided the step.
  @concurrent func decided() async { _ = await decision.value() }

  /// Removes the branches, which have all ended: what they returned is not retained until the run ends.
  func takeBranches() -> [BranchState<Run>] { machine.withLock { $0.takeBranches() } }

  var firstRunning: Run? { machine.withLock { $0.firstRunning } }

  /// Whether another branch has decided the step, so that this one begins no further step.
  func isLost(at index: Int) -> Bool { decider.map { $0 != index } ?? false }

  /// A branch begins; returns the request that cancels one that has lost before its first step.
  func begin(_ run: Run, at index: Int) -> CancellationRequest? {
    machine.withLock { $0.begin(run, at: index) } ? loss : nil
  }

  private var loss: CancellationRequest { CancellationRequest(nesting == .race ? .fasterBranch : .failedBranch) }

  /// The steps of a branch have ended, or the branch as well; one that was refused has no steps.
  func end(at index: Int, hasValue: Bool, with result: Result<FinishedBranch, any Error>? = nil) {
    guard machine.withLock({ $0.end(at: index, hasValue: hasValue, with: result) }) else { return }
    for run in machine.withLock({ $0.losers }) { cancel(run, loss) }
    decision.settle(index)
  }
}
