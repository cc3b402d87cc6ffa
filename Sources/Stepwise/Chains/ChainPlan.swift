// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The parts of a chain, first to last, without their code: all that another module can read of a chain.
package struct ChainPlan {
  package enum Part {
    case step(name: String?, isUndoable: Bool)
    /// Chains that run as one step: `then` for one, otherwise how they run.
    case chains([ChainPlan], how: String)
    case recover
    /// Covers everything before it.
    case enclosing(String)
    case onError
    case finally
    case overlap(Overlap)
  }

  private let last: Node

  fileprivate init(_ last: Node) {
    self.last = last
  }

  package var parts: [Part] {
    sequence(first: last, next: \.parent).reversed().map { node in
      switch node.part {
      case .step(let name, _, let undo, _): .step(name: name, isUndoable: undo != nil)
      case .chains(let chains, let how, _): .chains(chains.cores.map { ChainPlan($0.node) }, how: how)
      case .recover: .recover
      case .enclosing(let how, _): .enclosing(how)
      case .onError: .onError
      case .finally: .finally
      case .overlap(let policy): .overlap(policy)
      }
    }
  }
}

extension Chain {
  package nonisolated var plan: ChainPlan { ChainPlan(path.node) }
}
