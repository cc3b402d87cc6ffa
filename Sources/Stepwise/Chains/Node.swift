// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A step, type-erased: takes its input from the frame and leaves its output there.
@usableFromInline
typealias StepCode = nonisolated(nonsending) @Sendable (inout Frame) async throws -> Void

typealias ErrorHandler = nonisolated(nonsending) @Sendable (any Error) async -> Void
typealias FinallyHandler = nonisolated(nonsending) @Sendable (ChainState) async -> Void

/// One thing that a chain was given, and a link to all that it was given before.
///
/// Chains share what they have in common and keep nothing of one another's tails. The link has this very class as its type,
/// not a protocol or a generic parameter: that is what lets the compiler release a path of a million nodes in a loop.
@usableFromInline
final class Node: Sendable {
  enum Part: Sendable {
    case step(name: String?, isUndoable: Bool, StepCode)
    /// Chains that run as one step.
    case chains(NestedChains, how: String, StepCode)
    case recover(StepCode)
    /// Wraps everything before it.
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

/// Chains that run as one step, and that nothing else of a path keeps alive.
final class NestedChains: Sendable {
  // Proof: written by `deinit` alone, when nothing else refers to the object.
  nonisolated(unsafe) private(set) var cores: [ChainCore]

  init(_ cores: [ChainCore]) {
    self.cores = cores
  }

  deinit {
    // What a chain that dies here has as its steps is retained before: so chains that are inside one another are released
    // in this loop, and not one stack frame deeper for each.
    var dying = exchange(&cores, with: [])
    while var core = dying.popLast() {
      if isKnownUniquelyReferenced(&core) { dying += core.node.nestedChains }
    }
  }
}
