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
    var outputs: [any Sendable.Type] = []
    var cores: [ChainCore] = []
    repeat outputs.append((each Part).self)
    repeat cores.append((each chains).core)
    return zip(Branches(outputs, of: cores)) { branches in
      var position = 0
      func next<Next: Sendable>(_ type: Next.Type) throws -> Next {
        defer { position += 1 }
        return try branches[position].output(as: type)
      }
      return try (repeat next((each Part).self))
    }
  }

  /// Returns a chain that runs any number of chains concurrently on one input and collects their outputs, in order.
  ///
  /// Use it when you know only at run time how many chains there are. All of them run at once; to limit that, use
  /// ``thenMap(_:maxConcurrent:_:)``. When one fails, the others are cancelled and awaited, what they completed is
  /// undone, and the error of the first failure is thrown. Without chains, the output is empty.
  ///
  /// - Parameter chains: The chains, which all have the same types.
  /// - Returns: A chain whose output has the outputs in the order of the chains.
  public static func zip<Element: Sendable>(
    _ chains: some Collection<Chain<Input, Element>>
  ) -> Chain where Output == [Element] {
    zip(Branches(chains.map { _ in Element.self }, of: chains.map(\.core))) { branches in
      try branches.map { try $0.output(as: Element.self) }
    }
  }

  private static func zip(
    _ branches: Branches<Input>,
    collecting: @escaping @Sendable ([BranchState<Execution>]) throws -> Output
  ) -> Chain {
    Chain(
      Path(branches.chains, how: "zip") { frame in
        let input: Input = frame.slot.take()
        let branch = frame.fork(into: branches.chains, .zip)
        let ended = await branches.run(on: input, as: branch)
        let failure = branch.fork.decider.flatMap { ended[$0].result?.error }
        let undos = ended.flatMap { $0.value?.undos ?? [] }
        if failure != nil, frame.run.allowsAttempts {
          await frame.run.undoShielded(UndoStack.Undo.newestFirst(undos), recording: frame.recording)
        } else {
          await frame.adopt(undos)
        }
        if let failure { throw failure }
        frame.slot.put(try collecting(ended))
      }
    )
  }

  /// Returns a chain that runs chains concurrently on one input until one succeeds.
  ///
  /// The others are then cancelled and awaited, and what they completed is undone. ``RaceError`` is thrown when none
  /// succeeds.
  public static func race(_ chains: Chain...) -> Chain { race(among: chains) }

  /// Returns a chain that runs any number of chains concurrently on one input until one succeeds.
  ///
  /// Use it when you know only at run time how many chains there are. The others are then cancelled and awaited, and
  /// what they completed is undone. ``RaceError`` is thrown when none succeeds, and when there are no chains.
  ///
  /// - Parameter chains: The chains.
  /// - Returns: A chain whose output is that of the first chain that succeeds.
  public static func race(_ chains: some Collection<Chain>) -> Chain { race(among: Array(chains)) }

  private static func race(among chains: [Chain]) -> Chain {
    let branches = Branches<Input>(chains.map { _ in Output.self }, of: chains.map(\.core))
    return Chain(
      Path(branches.chains, how: "race") { frame in
        let input: Input = frame.slot.take()
        let branch = frame.fork(into: branches.chains, .race)
        let ended = await branches.run(on: input, as: branch)
        guard let decider = branch.fork.decider, let winner = ended[decider].value else {
          let errors = ended.compactMap(\.result?.error)
          // They were interrupted together with the run.
          if frame.run.isCancellationRequested, errors.allSatisfy({ $0 is CancellationError }) {
            throw CancellationError()
          }
          throw RaceError(errors: errors)
        }
        let others = ended.compactMap(\.value).filter { $0.output !== winner.output }
        let undos = UndoStack.Undo.newestFirst(others.flatMap(\.undos))
        await frame.run.undoShielded(undos, recording: frame.recording)
        await frame.adopt(winner.undos)
        frame.slot.put(winner.output(as: Output.self))
      }
    )
  }
}

extension BranchState {
  /// The output of the branch, whose type the caller knows.
  fileprivate func output<Output: Sendable>(as type: Output.Type) throws -> Output {
    try (result ?? .failure(CancellationError())).get().output(as: type)
  }
}

/// Chains that run concurrently as one step.
struct Branches<Input: Sendable>: Sendable {
  let chains: NestedChains
  private let outputs: [any Sendable.Type]

  init(_ outputs: [any Sendable.Type], of cores: [ChainCore]) {
    self.outputs = outputs
    chains = NestedChains(cores)
  }

  private static func run<Output: Sendable>(
    _ core: ChainCore,
    on input: Input,
    as branch: Branch,
    returning type: Output.Type
  ) async throws -> FinishedBranch {
    var slot = ValueSlot(input)
    let undos = try await core.run(&slot, as: branch)
    return FinishedBranch(output: Box(slot.take(Output.self)), undos: undos)
  }

  /// Runs all branches concurrently, and cancels the others when one has decided the step.
  @concurrent func run(on input: Input, as first: Branch) async -> [BranchState<Execution>] {
    let fork = first.fork
    // Its tasks throw nothing, but one of a group whose tasks may throw costs an allocation less.
    await withThrowingTaskGroup(of: Void.self) { group in
      var branch = first
      for index in outputs.indices {
        let (core, output) = (chains.cores[index], outputs[index])
        group.addTask { [branch] in
          let result = await Result.of { try await Self.run(core, on: input, as: branch, returning: output) }
          fork.end(at: index, hasValue: result.error == nil, with: result)
        }
        branch = branch.next(after: core.stepCount)
      }
      // A branch decides with its last step, and may have undos and handlers to call after that.
      if !outputs.isEmpty { await fork.decided() }
      // The one that decided as well: its handlers and undos are shielded.
      group.cancelAll()
      while await group.nextResult() != nil {}
    }
    return fork.takeBranches()
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

  package init(errors: [any Error]) { self.errors = errors }

  /// All the errors, in the order of the chains.
  public var description: String {
    errors.isEmpty ? "a race needs at least one chain" : "no chain of the race succeeded: \(errors)"
  }
}
