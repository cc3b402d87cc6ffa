// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A chain made ready to run: the path of its nodes as one array.
final class Program: Sendable {
  struct Operation: Sendable {
    enum Kind {
      case step, chains, recover, enclosing
    }

    let kind: Kind
    let code: StepCode
    let node: Node
    /// How many steps come before it, those of nested chains counted one by one.
    let firstStep: Int
  }

  let operations: [Operation]
  /// Where the operations are that wrap everything before them.
  let enclosings: [Int]
  let stepCount: Int
  /// Whether there is a step that can be undone.
  let canUndo: Bool
  let errorHandlers: [ErrorHandler]
  let finallyHandlers: [FinallyHandler]
  let overlap: Overlap
  let gate: Gate<RunCore>?

  init(path last: Node) {
    var nodes: [Node] = []
    var node: Node? = last
    while let current = node {
      nodes.append(current)
      node = current.parent
    }
    var operations: [Operation] = []
    operations.reserveCapacity(nodes.count)
    var enclosings: [Int] = []
    var steps = 0
    var canUndo = false
    var errorHandlers: [ErrorHandler] = []
    var finallyHandlers: [FinallyHandler] = []
    var overlap = Overlap.concurrent
    for node in nodes.reversed() {
      switch node.part {
      case .step(_, let isUndoable, let code):
        canUndo = canUndo || isUndoable
        operations.append(Operation(kind: .step, code: code, node: node, firstStep: steps))
        steps += 1
      case .chains(let chains, _, let code):
        operations.append(Operation(kind: .chains, code: code, node: node, firstStep: steps))
        steps += chains.reduce(0) { $0 + $1.program.stepCount }
        canUndo = canUndo || chains.contains { $0.program.canUndo }
      case .recover(let code):
        operations.append(Operation(kind: .recover, code: code, node: node, firstStep: steps))
      case .enclosing(_, let code):
        enclosings.append(operations.count)
        operations.append(Operation(kind: .enclosing, code: code, node: node, firstStep: steps))
      case .onError(let handler): errorHandlers.append(handler)
      case .finally(let handler): finallyHandlers.append(handler)
      case .overlap(let policy): overlap = policy
      }
    }
    self.operations = operations
    self.enclosings = enclosings
    stepCount = steps
    self.canUndo = canUndo
    self.errorHandlers = errorHandlers
    self.finallyHandlers = finallyHandlers.reversed()
    self.overlap = overlap
    gate = overlap.mode == nil ? nil : Gate(slots: 1) { $0.admission?.settle(()) }
  }

  /// The name of the step with that many before it.
  func nameOfStep(at index: Int) -> String? {
    // Operations are sorted by `firstStep`; of those that share one, the step is the last that has a step at all.
    var low = 0
    var high = operations.count
    while low < high {
      let middle = (low + high) / 2
      if operations[middle].firstStep <= index { low = middle + 1 } else { high = middle }
    }
    for operation in operations[..<low].reversed() {
      switch operation.node.part {
      case .step(let name, _, _): return name
      case .chains(let chains, _, _): return Self.nameOfStep(at: index - operation.firstStep, in: chains)
      default: continue
      }
    }
    return nil
  }

  private static func nameOfStep(at index: Int, in chains: [ChainCore]) -> String? {
    var index = index
    for chain in chains {
      if index < chain.program.stepCount { return chain.program.nameOfStep(at: index) }
      index -= chain.program.stepCount
    }
    return nil
  }
}
