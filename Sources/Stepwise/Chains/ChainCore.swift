// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A chain with its types erased.
@usableFromInline
final class ChainCore: Sendable {
  let node: Node
  let registry: RunRegistry
  let counter = RunCounter()
  private let compiled = Lock<Program?>(nil)
  private let generation = Lock<CancellationToken?>(nil)

  init(_ node: Node, registry: RunRegistry) {
    self.node = node
    self.registry = registry
  }

  /// Returns this chain with one more part.
  func appending(_ part: Node.Part) -> ChainCore {
    ChainCore(Node(part, after: node), registry: registry)
  }

  @usableFromInline
  convenience init(name: String?, _ code: @escaping StepCode) {
    self.init(Node(.step(name: name, isUndoable: false, code), after: nil), registry: RunRegistry())
  }

  convenience init(_ chains: NestedChains, how: String, _ code: @escaping StepCode) {
    self.init(Node(.chains(chains, how: how, code), after: nil), registry: RunRegistry())
  }

  @usableFromInline
  func appending(name: String?, _ code: @escaping StepCode) -> ChainCore {
    appending(.step(name: name, isUndoable: false, code))
  }

  /// The path as an array, created by the first run.
  var program: Program {
    if let program = compiled.withLock({ $0 }) { return program }
    // First the chains that are steps of this one, innermost first, to any depth.
    var missing = node.nestedChains
    while let last = missing.last {
      let inner = last.isCompiled ? [] : last.node.nestedChains.filter { !$0.isCompiled }
      if inner.isEmpty { _ = missing.removeLast().compiledItself } else { missing += inner }
    }
    return compiledItself
  }

  private var isCompiled: Bool { compiled.withLock { $0 != nil } }

  private var compiledItself: Program {
    if let program = compiled.withLock({ $0 }) { return program }
    let new = Program(path: node)
    return compiled.withLock { compiled in
      let program = compiled ?? new
      compiled = program
      return program
    }
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
    registry.cancelRuns(reason: reason) { $0.chainID == ObjectIdentifier(self) }
  }

  func isCancellationRequested(for generation: CancellationToken) -> Bool {
    generation.isCancelled || (registry.isTokenTaken && registry.token.isCancelled)
  }

  func request(of generation: CancellationToken) -> Cancellation? {
    registry.tokenIfTaken?.request ?? generation.request
  }
}
