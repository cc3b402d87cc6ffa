// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// One of several chains that run side by side on one input, without the type of its output.
struct Branch<Input: Sendable>: Sendable {
  struct Finished: Sendable {
    fileprivate let output: any AnyObject & Sendable
    let undos: [UndoStack.Entry]

    /// The output of the branch's chain, whose type the caller knows.
    func output<Output: Sendable>(as type: Output.Type) -> Output {
      // Proof: a branch boxes what its own chain returns, and is asked for that chain's type only; debug builds check.
      unsafeDowncast(output, to: Box<Output>.self).value
    }
  }

  /// Keeps outputs that are optionals or existentials as they are.
  private final class Box<Value: Sendable>: Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  let core: ChainCore
  private let run: @Sendable (Input, RunContext, Int) async throws -> Finished

  init<Output: Sendable>(_ chain: Chain<Input, Output>) {
    let core = chain.core
    self.core = core
    run = { input, context, index in
      let (output, undos): (Output, [UndoStack.Entry]) =
        try await core.run(input, asStepOf: context, at: index)
      return Finished(output: Box(output), undos: undos)
    }
  }

  fileprivate func finish(_ input: Input, _ context: RunContext, _ index: Int) async -> Result<Finished, any Error> {
    await .of { try await run(input, context, index) }
  }
}

/// Chains that run side by side as one step.
struct Branches<Input: Sendable>: Sendable {
  let all: [Branch<Input>]

  var cores: [ChainCore] { all.map(\.core) }

  /// Runs all of them.
  ///
  /// - Returns: what they ended with, in their order.
  /// - Throws: the error of the first that failed, after the others were cancelled, have ended, and are undone.
  func runAll(on input: Input, asStepsOf context: RunContext, at first: Int) async throws -> [Branch<Input>.Finished] {
    var failure: (any Error)?
    let ended = await run(on: input, context, first) { result in
      guard failure == nil, case .failure(let error) = result else { return false }
      failure = error
      return true
    }
    guard let failure else { return ended.compactMap { try? $0.get() } }
    await undo(ended, in: context)
    throw failure
  }

  /// Runs all of them until one succeeds; the others are cancelled then, and when they have ended they are undone.
  ///
  /// - Throws: `RaceError` when none succeeds; `CancellationError` when they were interrupted with the run and had no
  ///   errors of their own.
  func runFirst(on input: Input, asStepsOf context: RunContext, at first: Int) async throws -> Branch<Input>.Finished {
    var winner: Branch<Input>.Finished?
    let ended = await run(on: input, context, first) { result in
      guard winner == nil, case .success(let finished) = result else { return false }
      winner = finished
      return true
    }
    guard let winner else {
      let errors = ended.compactMap { result -> (any Error)? in
        if case .failure(let error) = result { error } else { nil }
      }
      if context.isAsked, errors.allSatisfy({ $0 is CancellationError }) { throw CancellationError() }
      throw RaceError(errors: errors)
    }
    await undo(ended.filter { (try? $0.get())?.output !== winner.output }, in: context)
    return winner
  }

  /// Runs all of them side by side.
  ///
  /// - Parameters:
  ///   - input: The input of each.
  ///   - context: The run that they are a step of.
  ///   - first: The index that events give to the first step of the first of them.
  ///   - isDecided: Told of each end as it comes; the others are cancelled when it answers true.
  /// - Returns: how they ended, in their order.
  private func run(
    on input: Input,
    _ context: RunContext,
    _ first: Int,
    until isDecided: (Result<Branch<Input>.Finished, any Error>) -> Bool
  ) async -> [Result<Branch<Input>.Finished, any Error>] {
    await withTaskGroup(of: (Int, Result<Branch<Input>.Finished, any Error>).self) { group in
      var step = first
      for (position, branch) in all.enumerated() {
        let index = step
        step += branch.core.program.stepCount
        group.addTask { (position, await branch.finish(input, context, index)) }
      }
      var ended: [Int: Result<Branch<Input>.Finished, any Error>] = [:]
      for await (position, result) in group {
        ended[position] = result
        if isDecided(result) { group.cancelAll() }
      }
      return all.indices.compactMap { ended[$0] }
    }
  }

  private func undo(_ ended: [Result<Branch<Input>.Finished, any Error>], in context: RunContext) async {
    await context.undoShielded(ended.reversed().flatMap { (try? $0.get())?.undos.reversed() ?? [] })
  }
}
