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
  private let run: @Sendable (ChainCore, Input, Child) async throws -> FinishedBranch

  init<Output: Sendable>(of chain: Chain<Input, Output>) {
    run = { core, input, child in
      let (output, undos): (Output, [UndoStack.Entry]) = try await core.run(input, as: child)
      return FinishedBranch(output: Box(output), undos: undos)
    }
  }

  fileprivate func finish(
    _ core: ChainCore,
    _ input: Input,
    as child: Child
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
    as first: Child
  ) async -> (succeeded: [FinishedBranch], failure: (any Error)?) {
    let ended = await run(on: input, as: first)
    var succeeded: [FinishedBranch] = []
    succeeded.reserveCapacity(count)
    for case .success(let finished)? in ended { succeeded.append(finished) }
    guard succeeded.count < count else { return (succeeded, nil) }
    return (succeeded, first.fork.decider.flatMap { ended[$0]?.error })
  }

  /// Runs all branches until one succeeds; the others are then cancelled and awaited.
  ///
  /// - Returns: The first branch that succeeded, and the others that did, which the caller undoes.
  /// - Throws: `RaceError` when none succeeds; `CancellationError` when they were interrupted together with the run and
  ///   threw no errors of their own.
  func runFirst(
    on input: Input,
    as first: Child
  ) async throws -> (winner: FinishedBranch, others: [FinishedBranch]) {
    let ended = await run(on: input, as: first)
    guard let decider = first.fork.decider, case .success(let winner)? = ended[decider] else {
      let errors = ended.compactMap { $0?.error }
      if first.outer.isCancellationRequested, errors.allSatisfy({ $0 is CancellationError }) {
        throw CancellationError()
      }
      throw RaceError(errors: errors)
    }
    return (winner, ended.compactMap { try? $0?.get() }.filter { $0.output !== winner.output })
  }

  /// Runs all branches concurrently, and cancels the others when one has decided the step.
  ///
  /// - Parameters:
  ///   - input: The input of each branch.
  ///   - first: The relation of the first branch's run to the run that contains the step.
  /// - Returns: The results, in the order of the branches.
  private func run(on input: Input, as first: Child) async -> [Result<FinishedBranch, any Error>?] {
    // Its tasks throw nothing, but one of a group whose tasks may throw costs an allocation less.
    await withThrowingTaskGroup(of: (Int, Result<FinishedBranch, any Error>)?.self) { group in
      var child = first
      for place in all.indices {
        let (branch, core) = (all[place], chains.cores[place])
        group.addTask { [child] in (place, await branch.finish(core, input, as: child)) }
        child = child.next(after: core.program)
      }
      // A branch decides with its last step, and may have undos and handlers to call after that.
      if let decision = first.fork.decision {
        group.addTask {
          _ = await decision.value()
          return nil
        }
      }
      var ended = Array(repeating: Result<FinishedBranch, any Error>?.none, count: count)
      while case .success(let next) = await group.nextResult() {
        if let (place, result) = next {
          ended[place] = result
          // One that was refused has not run.
          first.fork.end(at: place, hasValue: result.error == nil)
        }
        if first.fork.decider != nil { group.cancelAll() }
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
