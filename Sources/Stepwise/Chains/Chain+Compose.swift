// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Appends a chain.
  ///
  /// It keeps its own handlers, policy and token for its own part, and they come first; this chain's see the whole. When it
  /// has completed, its undos belong to the run of the whole.
  ///
  /// - Parameters:
  ///   - next: Takes the output of the step before.
  ///   - trailing: Not to be given; as with the other overloads, it keeps `then { … }` cheap to type-check.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func then<Next: Sendable>(
    _ next: Chain<Output, Next>,
    trailing: ((Never) -> Void)? = nil
  ) -> Chain<Input, Next> {
    let inner = next.core
    let code: StepCode = { frame in
      let input: Output = frame.baton.take()
      let (output, undos): (Next, [UndoStack.Entry]) = try await inner.run(
        input,
        asStepOf: frame.context,
        at: frame.index
      )
      await frame.adopt(undos)
      frame.baton.put(output)
    }
    return Chain<Input, Next>(core: core.appending(.chains([inner], how: "then", code)))
  }

  /// Runs chains on one input, side by side.
  ///
  /// When one fails, the others are cancelled and waited for, what they completed is undone, and the error of the first that
  /// failed is thrown.
  ///
  /// - Parameter chains: The chains.
  /// - Returns: A chain whose output has theirs, in their order.
  public static func zip<each Part: Sendable>(
    _ chains: repeat Chain<Input, each Part>
  ) -> Chain where Output == (repeat each Part) {
    var all: [Branch<Input>] = []
    repeat all.append(Branch(each chains))
    let branches = Branches(all: all)
    return Chain(
      core: ChainCore(branches.cores, how: "zip") { frame in
        let input: Input = frame.baton.take()
        let finished = try await branches.runAll(on: input, asStepsOf: frame.context, at: frame.index)
        for branch in finished { await frame.adopt(branch.undos) }
        var position = 0
        func next<Next: Sendable>(_ type: Next.Type) -> Next {
          defer { position += 1 }
          return finished[position].output(as: type)
        }
        let output: Output = (repeat next((each Part).self))
        frame.baton.put(output)
      }
    )
  }

  /// Runs chains on one input, side by side, for the first success.
  ///
  /// The others are cancelled then and waited for, and what they completed is undone.
  ///
  /// - Parameter chains: The chains.
  /// - Returns: A chain whose output is that of the first that succeeded. It throws ``RaceError`` when none did.
  public static func race(_ chains: Chain...) -> Chain {
    let branches = Branches(all: chains.map { Branch($0) })
    return Chain(
      core: ChainCore(branches.cores, how: "race") { frame in
        let input: Input = frame.baton.take()
        let winner = try await branches.runFirst(on: input, asStepsOf: frame.context, at: frame.index)
        await frame.adopt(winner.undos)
        frame.baton.put(winner.output(as: Output.self))
      }
    )
  }
}
