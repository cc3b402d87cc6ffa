// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Returns a chain that runs chains concurrently on one input and collects their outputs in a tuple, in order.
  ///
  /// When one fails, the others are cancelled and awaited, what they completed is undone, and the error of the first
  /// failure is thrown.
  public static func zip<each Part: Sendable>(
    _ chains: repeat Chain<Input, each Part>
  ) -> Chain where Output == (repeat each Part) {
    var all: [Branches<Input>.Branch] = []
    var cores: [ChainCore] = []
    repeat all.append(Branches.branch(Chain<Input, each Part>.self))
    repeat cores.append((each chains).core)
    let branches = Branches(all, of: cores)
    return Chain(
      Path(branches.chains, how: "zip") { frame in
        let input: Input = frame.slot.take()
        let child = frame.fork(into: branches.chains, .zip)
        let ended = await branches.run(on: input, as: child)
        let finished = ended.compactMap { try? $0?.get() }
        let failure = finished.count < ended.count ? child.fork.decider.flatMap { ended[$0]?.error } : nil
        await frame.adopt(finished.flatMap(\.undos), isMarked: failure != nil)
        if let failure { throw failure }
        var position = 0
        func next<Next: Sendable>(_ type: Next.Type) -> Next {
          defer { position += 1 }
          return finished[position].output(as: type)
        }
        let output: Output = (repeat next((each Part).self))
        frame.slot.put(output)
      }
    )
  }

  /// Returns a chain that runs chains concurrently on one input until one succeeds.
  ///
  /// The others are then cancelled and awaited, and what they completed is undone. ``RaceError`` is thrown when none
  /// succeeds.
  public static func race(_ chains: Chain...) -> Chain {
    let branches = Branches(chains.map { _ in Branches.branch(Chain.self) }, of: chains.map(\.core))
    return Chain(
      Path(branches.chains, how: "race") { frame in
        let input: Input = frame.slot.take()
        let child = frame.fork(into: branches.chains, .race)
        let ended = await branches.run(on: input, as: child)
        guard let decider = child.fork.decider, case .success(let winner)? = ended[decider] else {
          let errors = ended.compactMap { $0?.error }
          // They were interrupted together with the run.
          if frame.execution.isCancellationRequested, errors.allSatisfy({ $0 is CancellationError }) {
            throw CancellationError()
          }
          throw RaceError(errors: errors)
        }
        let others = ended.compactMap { try? $0?.get() }.filter { $0.output !== winner.output }
        let undos = UndoStack.Entry.newestFirst(others.flatMap(\.undos))
        await frame.execution.undoShielded(undos, recording: frame.recording)
        await frame.adopt(winner.undos)
        frame.slot.put(winner.output(as: Output.self))
      }
    )
  }
}

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

/// Chains that run concurrently as one step.
struct Branches<Input: Sendable>: Sendable {
  /// Runs one of them, with its output type erased; it does not retain the chain: see `NestedChains`.
  typealias Branch = @concurrent @Sendable (ChainCore, Input, Child) async throws -> FinishedBranch

  let chains: NestedChains
  private let all: [Branch]

  init(_ all: [Branch], of cores: [ChainCore]) {
    self.all = all
    chains = NestedChains(cores)
  }

  static func branch<Output: Sendable>(_: Chain<Input, Output>.Type) -> Branch {
    { core, input, child in
      var slot = ValueSlot(input)
      let undos = try await core.run(&slot, as: child)
      return FinishedBranch(output: Box(slot.take(Output.self)), undos: undos)
    }
  }

  /// Runs all branches concurrently, and cancels the others when one has decided the step.
  @concurrent func run(on input: Input, as first: Child) async -> [Result<FinishedBranch, any Error>?] {
    // Its tasks throw nothing, but one of a group whose tasks may throw costs an allocation less.
    await withThrowingTaskGroup(of: (Int, Result<FinishedBranch, any Error>)?.self) { group in
      var child = first
      for index in all.indices {
        let (branch, core) = (all[index], chains.cores[index])
        group.addTask { [child] in (index, await .of { try await branch(core, input, child) }) }
        child = child.next(after: core)
      }
      var isReplaying = first.fork.isReplayed
      // A branch decides with its last step, and may have undos and handlers to call after that.
      if all.count > 1 || isReplaying {
        group.addTask {
          await first.fork.decided()
          return nil
        }
      }
      var ended = Array(repeating: Result<FinishedBranch, any Error>?.none, count: all.count)
      while case .success(let next) = await group.nextResult() {
        if let (index, result) = next {
          ended[index] = result
          // One that was refused has not run.
          first.fork.end(at: index, hasValue: result.error == nil)
        } else {
          isReplaying = false
        }
        if let decider = first.fork.decider, !isReplaying, !first.fork.isReplayed || ended[decider] != nil {
          group.cancelAll()
        }
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

/// An error thrown when no chain of a race succeeds.
///
/// Its ``errors`` tell you why each chain failed.
public struct RaceError: Error, CustomStringConvertible {
  /// The errors of the chains, in the order in which the chains were passed.
  public let errors: [any Error]

  package init(errors: [any Error]) {
    self.errors = errors
  }

  /// All the errors, in the order of the chains.
  public var description: String {
    errors.isEmpty ? "a race needs at least one chain" : "no chain of the race succeeded: \(errors)"
  }
}
