// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One of several chains that run concurrently on one input, with its output type erased.
struct Branch<Input: Sendable>: Sendable {
  struct Finished: Sendable {
    fileprivate let output: any AnyObject & Sendable
    let undos: [UndoStack.Entry]

    /// The output of the branch's chain, whose type the caller knows.
    func output<Output: Sendable>(as type: Output.Type) -> Output {
      // Safety: a branch boxes the output of its own chain and is read with that chain's output type; debug builds
      // check it.
      unsafeDowncast(output, to: Box<Output>.self).value
    }
  }

  /// Preserves outputs that are optionals or existentials.
  private final class Box<Value: Sendable>: Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  /// The branches retain the chain, and this closure does not: see `NestedChains`.
  private let run: @Sendable (ChainCore, Input, ChildRun) async throws -> Finished

  init<Output: Sendable>(of chain: Chain<Input, Output>) {
    run = { core, input, child in
      let (output, undos): (Output, [UndoStack.Entry]) = try await core.run(input, as: child)
      return Finished(output: Box(output), undos: undos)
    }
  }

  fileprivate func finish(
    _ core: ChainCore,
    _ input: Input,
    as child: ChildRun
  ) async -> Result<Finished, any Error> {
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

  /// Runs all branches.
  ///
  /// When one fails, the others are cancelled and awaited.
  ///
  /// - Returns: The branches that succeeded, in order, and the error of the first one that failed. The caller then
  ///   undoes what the others completed.
  func runAll(
    on input: Input,
    as first: ChildRun
  ) async -> (succeeded: [Branch<Input>.Finished], failure: (any Error)?) {
    let ended = await run(on: input, as: first) { if case .failure = $0 { true } else { false } }
    var succeeded: [Branch<Input>.Finished] = []
    succeeded.reserveCapacity(count)
    for case .success(let finished) in ended { succeeded.append(finished) }
    guard succeeded.count < count else { return (succeeded, nil) }
    // The first one to fail: others may have failed after they were cancelled, and may have finished their handlers
    // sooner.
    let deciding = first.siblings.decider.map { ended[$0] } ?? ended.first { $0.error != nil }
    return (succeeded, deciding?.error)
  }

  /// Runs all branches until one succeeds; the others are then cancelled and awaited.
  ///
  /// - Returns: The first branch that succeeded, and the others that did, which the caller undoes.
  /// - Throws: `RaceError` when none succeeds; `CancellationError` when they were interrupted together with the run and
  ///   threw no errors of their own.
  func runFirst(
    on input: Input,
    as first: ChildRun
  ) async throws -> (winner: Branch<Input>.Finished, others: [Branch<Input>.Finished]) {
    var winner: Branch<Input>.Finished?
    let ended = await run(on: input, as: first) { result in
      guard case .success(let finished) = result else { return false }
      winner = winner ?? finished
      return true
    }
    guard let winner else {
      let errors = ended.compactMap(\.error)
      if first.outer.isCancellationRequested, errors.allSatisfy({ $0 is CancellationError }) {
        throw CancellationError()
      }
      throw RaceError(errors: errors)
    }
    return (winner, ended.compactMap { try? $0.get() }.filter { $0.output !== winner.output })
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
    until isDecided: (Result<Branch<Input>.Finished, any Error>) -> Bool
  ) async -> [Result<Branch<Input>.Finished, any Error>] {
    await withTaskGroup(of: (Int, Result<Branch<Input>.Finished, any Error>).self) { group in
      var child = first
      for place in all.indices {
        let (branch, core) = (all[place], chains.cores[place])
        let awaited = AwaitedTask.make()
        group.addTask { [child] in (place, await awaited.run { await branch.finish(core, input, as: child) }) }
        child = child.next(after: core.program)
      }
      var ended = Array(repeating: Result<Branch<Input>.Finished, any Error>.failure(CancellationError()), count: count)
      for await (place, result) in group {
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
