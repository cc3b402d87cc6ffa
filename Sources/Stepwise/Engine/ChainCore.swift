// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A chain with its types erased: its compiled path, and the supervision of its runs.
@usableFromInline
final class ChainCore: Sendable {
  let program: Program
  /// How its runs enter its gate; nil when they overlap freely.
  let entrance: Entrance?
  let registry: RunRegistry
  let counter = RunCounter()
  let node: Node
  private let generation = Lock<CancellationToken?>(nil)

  init(_ path: Path) {
    node = path.node
    registry = path.registry
    program = Program(path: path.node, identity: path.identity)
    entrance = program.overlap.mode.map { Entrance(gate: Gate(slots: 1), mode: $0) }
  }

  /// The chains that run as steps of this one.
  var nestedChains: [ChainCore] { node.nestedChains }

  /// Whether nothing but tokens around them can reach its runs, so that they need no task of their own.
  var isPlain: Bool { !registry.isTokenTaken && entrance == nil }

  /// Whether nothing follows the last step of a run.
  var endsWithItsSteps: Bool {
    isPlain && program.errorHandlers.isEmpty && program.finallyHandlers.isEmpty
  }

  // MARK: - Cancelling all runs

  /// The token of the runs that start between two calls of `cancelRuns`; the second call cancels it.
  ///
  /// A run made by `start` is also in the registry, which interrupts it; a plain run checks this token before each
  /// step.
  var currentGeneration: CancellationToken {
    generation.withLock { generation in
      let current = generation ?? CancellationToken()
      generation = current
      return current
    }
  }

  func cancelRuns(reason: String?) {
    let ended = generation.withLock { $0.take() }
    ended?.cancel(reason: reason)
    registry.cancelRuns(reason: reason) { $0.program == ObjectIdentifier(program) }
  }
}
