// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A type-erased step, which takes its input from the frame and stores its output there.
@usableFromInline
typealias StepCode = nonisolated(nonsending) @Sendable (inout Frame) async throws -> Void

typealias ErrorHandler = nonisolated(nonsending) @Sendable (any Error, ChainStep) async -> Void
typealias FinallyHandler = nonisolated(nonsending) @Sendable (ChainState) async -> Void

/// One part of a chain, and a link to the part before it.
///
/// Chains share the parts that they have in common. The link has this class as its type instead of a protocol or a
/// generic parameter, so that the compiler can release a path of a million nodes in a loop.
@usableFromInline
final class Node: Sendable {
  enum Part: Sendable {
    case step(name: String?, isUndoable: Bool, StepCode)
    /// Chains that run as one step.
    case chains(NestedChains, how: String, StepCode)
    /// Replaces errors.
    case recover(StepCode)
    /// Covers everything before it.
    case enclosing(how: String, StepCode)
    case onError(ErrorHandler)
    case finally(FinallyHandler)
    case overlap(Overlap)
  }

  let parent: Node?
  let part: Part

  init(_ part: Part, after parent: Node?) {
    self.parent = parent
    self.part = part
  }

  /// The number of steps, including those of nested chains.
  var stepCount: Int {
    switch part {
    case .step: 1
    case .chains(let chains, _, _): chains.cores.reduce(0) { $0 + $1.program.stepCount }
    default: 0
    }
  }

  /// Whether there is a step that can be undone.
  var canUndo: Bool {
    switch part {
    case .step(_, let isUndoable, _): isUndoable
    case .chains(let chains, _, _): chains.cores.contains(where: \.program.canUndo)
    default: false
    }
  }

  /// The chains that run as steps of the path that ends here.
  var nestedChains: [ChainCore] {
    var chains: [ChainCore] = []
    var node: Node? = self
    while let current = node {
      if case .chains(let nested, _, _) = current.part { chains += nested.cores }
      node = current.parent
    }
    return chains
  }
}

/// Chains that run as one step; they are the only owner of their cores within a path.
final class NestedChains: Sendable {
  // Safety: only `deinit` writes it, when no other reference to the object exists.
  nonisolated(unsafe) private(set) var cores: [ChainCore]

  init(_ cores: [ChainCore]) {
    self.cores = cores
  }

  deinit {
    // Retains the steps of a chain before it is released, so that nested chains are released in this loop instead of
    // recursively.
    var dying = exchange(&cores, with: [])
    while var core = dying.popLast() {
      if isKnownUniquelyReferenced(&core) { dying += core.nestedChains }
    }
  }
}
