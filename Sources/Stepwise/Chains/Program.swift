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
  /// The names of the steps that have one, those of nested chains included.
  ///
  /// Whoever keeps them keeps no step.
  let names: [Int: String]
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
    var names: [Int: String] = [:]
    var canUndo = false
    var errorHandlers: [ErrorHandler] = []
    var finallyHandlers: [FinallyHandler] = []
    var overlap = Overlap.concurrent
    for node in nodes.reversed() {
      switch node.part {
      case .step(let name, let isUndoable, let code):
        if let name { names[steps] = name }
        canUndo = canUndo || isUndoable
        operations.append(Operation(kind: .step, code: code, node: node, firstStep: steps))
        steps += 1
      case .chains(let chains, _, let code):
        operations.append(Operation(kind: .chains, code: code, node: node, firstStep: steps))
        for program in chains.map(\.program) {
          for (index, name) in program.names { names[steps + index] = name }
          steps += program.stepCount
          canUndo = canUndo || program.canUndo
        }
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
    self.names = names
    self.canUndo = canUndo
    self.errorHandlers = errorHandlers
    self.finallyHandlers = finallyHandlers.reversed()
    self.overlap = overlap
    gate = overlap.mode == nil ? nil : Gate(slots: 1) { $0.admission?.settle(()) }
  }
}
