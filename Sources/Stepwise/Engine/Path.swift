// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A type-erased step, which takes its input from the frame and stores its output there.
@usableFromInline
package typealias StepCode = @Sendable (inout Frame) async throws -> Void

/// Returns what undoes a step, from the slot that holds its output.
@usableFromInline
package typealias StepUndo = @Sendable (borrowing ValueSlot) -> (@Sendable () async throws -> Void)

@usableFromInline package typealias ErrorHandler = @Sendable (any Error, ChainStep) async -> Void
@usableFromInline package typealias FinallyHandler = @Sendable (ChainState) async -> Void

/// Returns the key by which runs join one, from the slot that holds their input.
@usableFromInline package typealias InputKey = @Sendable (borrowing ValueSlot) -> any Hashable & Sendable

/// One element of a chain, and a link to the one before it.
///
/// Chains share the elements that they have in common. The link has this class as its type instead of a protocol or a
/// generic parameter, so that the compiler can release a path of a million nodes in a loop.
@usableFromInline
package final class Node: Sendable {
  @usableFromInline package enum Kind: Sendable {
    case step(name: String?, output: any Sendable.Type, undo: Box<StepUndo>?, StepCode)
    /// Chains that run as one step.
    case chains(NestedChains, how: String, StepCode)
    /// Replaces errors with a value of the type.
    case recover(any Sendable.Type, StepCode)
    /// Covers everything before it.
    case covering(how: String, StepCode)
    case onError(ErrorHandler)
    case finally(FinallyHandler)
    case overlap(Overlap)
    case coalesced(InputKey)
  }

  let parent: Node?
  package let kind: Kind
  /// Whether it is a `Step`.
  let isReusable: Bool
  /// The runs of the chains that begin with the same element.
  let registry: RunRegistry

  /// The kinds of the elements of the path that ends here.
  package var kinds: [Kind] { sequence(first: self, next: \.parent).reversed().map(\.kind) }

  init(_ kind: Kind, after parent: Node?, isReusable: Bool = false) {
    registry = parent?.registry ?? RunRegistry()
    self.isReusable = isReusable
    self.parent = parent
    self.kind = kind
  }

  /// The number of steps, including those of nested chains.
  var stepCount: Int {
    switch kind {
    case .step: 1
    case .chains(let chains, _, _): chains.cores.reduce(0) { $0 + $1.stepCount }
    default: 0
    }
  }

  /// The chains that run as steps of the path that ends here.
  var nestedChains: [ChainCore] {
    sequence(first: self, next: \.parent).flatMap { node -> [ChainCore] in
      if case .chains(let nested, _, _) = node.kind { nested.cores } else { [] }
    }
  }
}

extension Node.Kind {
  /// Returns a step, whose undo receives the output that its code has left in the slot.
  @usableFromInline
  static func step<Output: Sendable>(
    _ name: String?,
    undo: (@Sendable (Output) async throws -> Void)?,
    _ code: @escaping StepCode
  ) -> Node.Kind {
    // Not mapped, for which the type of the closure would be looked up.
    guard let undo else { return .step(name: name, output: Output.self, undo: nil, code) }
    let stepUndo = Box<StepUndo> { slot in
      let output = slot.copy(as: Output.self)
      return { try await undo(output) }
    }
    return .step(name: name, output: Output.self, undo: stepUndo, code)
  }
}

/// Chains that run as one step; they are the only owner of their cores within a path.
@usableFromInline package final class NestedChains: Sendable {
  // Safety: only `deinit` writes it, when no other reference to the object exists.
  nonisolated(unsafe) private(set) var cores: [ChainCore]

  /// The last elements of their paths.
  package var nodes: [Node] { cores.map(\.node) }

  init(_ cores: [ChainCore]) { self.cores = cores }

  deinit {
    // Retains the steps of a chain before it is released, so that nested chains are released in this loop instead of
    // recursively.
    var dying = exchange(&cores, with: [])
    while var core = dying.popLast() {
      if isKnownUniquelyReferenced(&core) { dying += core.node.nestedChains }
    }
  }
}

/// A chain as it is described: the path to its last element.
@usableFromInline
struct Path: Sendable {
  let node: Node
  /// The name and the observers, if it has any.
  var identity = ChainIdentity()

  /// Returns this path with one more element.
  @usableFromInline
  func appending(_ kind: consuming Node.Kind) -> Path {
    Path(node: Node(kind, after: node), identity: identity)
  }

  /// Returns this path with a `Step` at its end.
  func appending(step kind: consuming Node.Kind) -> Path {
    Path(node: Node(kind, after: node, isReusable: true), identity: identity)
  }
}

extension Path {
  /// Creates a path of one element.
  init(_ kind: Node.Kind, isReusable: Bool = false) {
    self.init(node: Node(kind, after: nil, isReusable: isReusable))
  }

  init(_ chains: NestedChains, how: String, _ code: @escaping StepCode) { self.init(.chains(chains, how: how, code)) }
}
