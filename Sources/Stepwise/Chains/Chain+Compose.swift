// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Returns a chain that runs chains concurrently on one input and collects their outputs.
  ///
  /// When one fails, the others are cancelled and awaited, what they completed is undone, and the error of the first
  /// failure is thrown.
  ///
  /// - Parameter chains: The chains.
  /// - Returns: A chain whose output is a tuple of their outputs, in order.
  public static func zip<each Part: Sendable>(
    _ chains: repeat Chain<Input, each Part>
  ) -> Chain where Output == (repeat each Part) {
    var all: [Branch<Input>] = []
    var cores: [ChainCore] = []
    repeat all.append(Branch(of: each chains))
    repeat cores.append((each chains).core)
    let branches = Branches(all, of: cores)
    return Chain(
      Path(branches.chains, how: "zip") { frame in
        let input: Input = frame.slot.take()
        let (finished, failure) = await branches.runAll(on: input, as: frame.fork(into: branches.chains, .zip))
        await frame.adopt(branches.undos(of: finished), isMarked: failure != nil)
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
  /// The others are then cancelled and awaited, and what they completed is undone.
  ///
  /// - Parameter chains: The chains.
  /// - Returns: A chain whose output is that of the first chain that succeeded. It throws ``RaceError`` when none
  ///   succeeds.
  public static func race(_ chains: Chain...) -> Chain {
    let branches = Branches(chains.map { Branch(of: $0) }, of: chains.map(\.core))
    return Chain(
      Path(branches.chains, how: "race") { frame in
        let input: Input = frame.slot.take()
        let child = frame.fork(into: branches.chains, .race)
        let (winner, others) = try await branches.runFirst(on: input, as: child)
        let undos = UndoStack.Entry.newestFirst(branches.undos(of: others))
        await frame.execution.undoShielded(undos, recording: frame.recording)
        await frame.adopt(winner.undos)
        frame.slot.put(winner.output(as: Output.self))
      }
    )
  }
}
