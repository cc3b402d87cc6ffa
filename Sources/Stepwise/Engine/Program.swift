// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A chain prepared for running: the path of its nodes as one array.
final class Program: Sendable {
  struct Operation: Sendable {
    enum Kind {
      case step, chains, recover, enclosing
    }

    let kind: Kind
    let code: StepCode
    let node: Node
    /// The number of steps before it, including those of nested chains.
    let firstStep: Int
  }

  let operations: [Operation]
  /// The positions of the operations that cover everything before them.
  let enclosings: [Int]
  let stepCount: Int
  private let allNames = Lock<[Int: String]?>(nil)
  /// Whether there is a step that can be undone.
  let canUndo: Bool
  let errorHandlers: [ErrorHandler]
  let finallyHandlers: [FinallyHandler]
  let overlap: Overlap
  /// The name and the observers, if it has any.
  let identity: ChainIdentity?

  init(path last: Node, identity: ChainIdentity?) {
    self.identity = identity
    // Last one first, since a node knows only the one before it.
    let nodes = sequence(first: last, next: \.parent)
    let (count, stepCount) = nodes.reduce((0, 0)) { ($0.0 + 1, $0.1 + $1.stepCount) }
    var firstStep = stepCount
    var operations: [Operation] = []
    operations.reserveCapacity(count)
    var errorHandlers: [ErrorHandler] = []
    var finallyHandlers: [FinallyHandler] = []
    var overlap: Overlap?
    for node in nodes {
      firstStep -= node.stepCount
      switch node.part {
      case .step(_, _, let code):
        operations.append(Operation(kind: .step, code: code, node: node, firstStep: firstStep))
      case .chains(_, _, let code):
        operations.append(Operation(kind: .chains, code: code, node: node, firstStep: firstStep))
      case .recover(let code):
        operations.append(Operation(kind: .recover, code: code, node: node, firstStep: firstStep))
      case .enclosing(_, let code):
        operations.append(Operation(kind: .enclosing, code: code, node: node, firstStep: firstStep))
      case .onError(let handler): errorHandlers.append(handler)
      case .finally(let handler): finallyHandlers.append(handler)
      case .overlap(let policy): overlap = overlap ?? policy
      }
    }
    operations.reverse()
    self.operations = operations
    enclosings = operations.indices.filter { operations[$0].kind == .enclosing }
    self.stepCount = stepCount
    canUndo = operations.contains { $0.node.canUndo }
    self.errorHandlers = errorHandlers.reversed()
    self.finallyHandlers = finallyHandlers
    self.overlap = overlap ?? .concurrent
  }

  var observers: [any RunObserver] { identity?.observers ?? [] }

  /// The name for observers and traces.
  var name: String {
    if let name = identity?.name { return name }
    let last = max(0, stepCount - 1)
    let names = [0, last].map { ChainStep(index: $0, name: name(at: $0)).description }
    return last == 0 ? names[0] : "\(names[0]) → \(names[1])"
  }

  /// Returns the name of a step, which may be part of a nested chain.
  func name(at index: Int) -> String? {
    var (program, index) = (self, index)
    while true {
      let operation = program.operation(at: index)
      index -= operation.firstStep
      switch operation.node.part {
      case .step(let name, _, _): return name
      case .chains(let chains, _, _):
        var inner = chains.cores.map(\.program)[...]
        while let first = inner.first, first.stepCount <= index { index -= inner.removeFirst().stepCount }
        guard let containing = inner.first else { return nil }
        program = containing
      default: return nil
      }
    }
  }

  /// Returns the last operation that starts at or before a step.
  private func operation(at step: Int) -> Operation {
    var (low, high) = (0, operations.count - 1)
    while low < high {
      let middle = (low + high + 1) / 2
      if operations[middle].firstStep <= step { low = middle } else { high = middle - 1 }
    }
    return operations[low]
  }

  /// The names of the steps that have one, including those of nested chains; created for the first observed run.
  ///
  /// Retaining the names does not retain the steps.
  var names: [Int: String] {
    if let names = allNames.withLock({ $0 }) { return names }
    var names: [Int: String] = [:]
    var pending = [(program: self, firstStep: 0)]
    while let (program, first) = pending.popLast() {
      for operation in program.operations {
        var step = first + operation.firstStep
        switch operation.node.part {
        case .step(let name?, _, _): names[step] = name
        case .chains(let chains, _, _):
          for program in chains.cores.map(\.program) {
            pending.append((program, step))
            step += program.stepCount
          }
        default: break
        }
      }
    }
    allNames.withLock { $0 = names }
    return names
  }
}

/// The name and the observers of a chain.
package final class ChainIdentity: Sendable {
  package let name: String?
  let observers: [any RunObserver]

  init(name: String?, observers: [any RunObserver]) {
    self.name = name
    self.observers = observers
  }
}
