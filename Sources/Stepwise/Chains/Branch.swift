// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A branch that has a value, with its type erased.
struct FinishedBranch: Sendable {
  fileprivate let output: any AnyBox
  let undos: [UndoStack.Entry]

  /// The output of the branch's chain, whose type the caller knows.
  func output<Output: Sendable>(as type: Output.Type) -> Output {
    // Safety: a branch boxes the output of its own chain and is read with that chain's output type; debug builds
    // check it.
    unsafeDowncast(output, to: Box<Output>.self).value
  }
}

/// One of several chains that run concurrently on one input, with its output type erased.
struct Branch<Input: Sendable>: Sendable {
  /// The branches retain the chain, and this closure does not: see `NestedChains`.
  private let run: @Sendable (ChainCore, Input, ChildRun) async throws -> FinishedBranch

  init<Output: Sendable>(of chain: Chain<Input, Output>) {
    run = { core, input, child in
      let (output, undos): (Output, [UndoStack.Entry]) = try await core.run(input, as: child)
      return FinishedBranch(output: Box(output), undos: undos)
    }
  }

  fileprivate func finish(
    _ core: ChainCore,
    _ input: Input,
    as child: ChildRun
  ) async -> Result<FinishedBranch, any Error> {
    await .of { try await run(core, input, child) }
  }
}

/// Chains that run concurrently as one step.
struct Branches<Input: Sendable>: Sendable {
  let chains: NestedChains
  private let all: [Branch<Input>]

  init(_ all: [Branch<Input>], of cores: [ChainCore]) {
    self.all = all
    chains = NestedChains(cores)
  }

  var count: Int { all.count }

  func undos(of finished: [FinishedBranch]) -> [UndoStack.Entry] { finished.flatMap { $0.undos } }

  /// Runs all branches.
  ///
  /// When one fails, the others are cancelled and awaited.
  ///
  /// - Returns: The branches that succeeded, in order, and the error of the first one that failed. The caller then
  ///   undoes what the others completed.
  func runAll(
    on input: Input,
    as first: ChildRun
  ) async -> (succeeded: [FinishedBranch], failure: (any Error)?) {
    let ended = await run(on: input, as: first) { if case .failure = $0 { true } else { false } }
    var succeeded: [FinishedBranch] = []
    succeeded.reserveCapacity(count)
    for case .success(let finished)? in ended { succeeded.append(finished) }
    guard succeeded.count < count else { return (succeeded, nil) }
    // The first one to fail: others may have failed after they were cancelled, and may have finished their handlers
    // sooner.
    let deciding = first.siblings.decider ?? ended.firstIndex { $0?.error != nil }
    return (succeeded, deciding.flatMap { ended[$0]?.error })
  }

  /// Runs all branches until one succeeds; the others are then cancelled and awaited.
  ///
  /// - Returns: The first branch that succeeded, and the others that did, which the caller undoes.
  /// - Throws: `RaceError` when none succeeds; `CancellationError` when they were interrupted together with the run and
  ///   threw no errors of their own.
  func runFirst(
    on input: Input,
    as first: ChildRun
  ) async throws -> (winner: FinishedBranch, others: [FinishedBranch]) {
    var winner: FinishedBranch?
    let ended = await run(on: input, as: first) { result in
      guard case .success(let finished) = result else { return false }
      winner = winner ?? finished
      return true
    }
    guard let winner else {
      let errors = ended.compactMap { $0?.error }
      if first.outer.isCancellationRequested, errors.allSatisfy({ $0 is CancellationError }) {
        throw CancellationError()
      }
      throw RaceError(errors: errors)
    }
    return (winner, ended.compactMap { try? $0?.get() }.filter { $0.output !== winner.output })
  }

  /// Runs all branches concurrently.
  ///
  /// - Parameters:
  ///   - input: The input of each branch.
  ///   - first: The relation of the first branch's run to the run that contains the step.
  ///   - isDecided: Called with each result as it arrives; returning true cancels the other branches.
  /// - Returns: The results, in the order of the branches.
  private func run(
    on input: Input,
    as first: ChildRun,
    until isDecided: (Result<FinishedBranch, any Error>) -> Bool
  ) async -> [Result<FinishedBranch, any Error>?] {
    // Its tasks throw nothing, but one of a group whose tasks may throw costs an allocation less.
    await withThrowingTaskGroup(of: (Int, Result<FinishedBranch, any Error>).self) { group in
      var child = first
      for place in all.indices {
        let (branch, core) = (all[place], chains.cores[place])
        let awaited = AwaitedTask.make()
        group.addTask { [child] in (place, await awaited.run { await branch.finish(core, input, as: child) }) }
        child = child.next(after: core.program)
      }
      var ended = Array(repeating: Result<FinishedBranch, any Error>?.none, count: count)
      while case .success((let place, let result)) = await group.nextResult() {
        ended[place] = result
        if isDecided(result) { group.cancelAll() }
      }
      return ended
    }
  }
}

extension Result {
  fileprivate var error: Failure? {
    if case .failure(let error) = self { error } else { nil }
  }
}
