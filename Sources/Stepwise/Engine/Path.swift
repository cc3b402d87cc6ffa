// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A chain as it is described: the path to its last part, and what it shares with the chains derived from it.
@usableFromInline
struct Path: Sendable {
  let node: Node
  let registry: RunRegistry
  /// The name and the observers, if it has any.
  let identity: ChainIdentity?
  var observers: [any RunObserver] { identity?.observers ?? [] }

  /// Creates a path of one part.
  init(_ part: Node.Part) {
    self.init(node: Node(part, after: nil), registry: RunRegistry())
  }

  private init(node: Node, registry: RunRegistry, identity: ChainIdentity? = nil) {
    self.node = node
    self.registry = registry
    self.identity = identity
  }

  @usableFromInline
  init(name: String?, _ code: @escaping StepCode) {
    self.init(.step(name: name, isUndoable: false, code))
  }

  init(_ chains: NestedChains, how: String, _ code: @escaping StepCode) {
    self.init(.chains(chains, how: how, code))
  }

  /// Returns this path with one more part.
  func appending(_ part: Node.Part) -> Path {
    Path(node: Node(part, after: node), registry: registry, identity: identity)
  }

  @usableFromInline
  func appending(name: String?, _ code: @escaping StepCode) -> Path {
    appending(.step(name: name, isUndoable: false, code))
  }

  /// Returns this path with another name or other observers.
  func identified(by identity: ChainIdentity) -> Path { Path(node: node, registry: registry, identity: identity) }
}
