// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The format of a diagram that `describe` returns.
public struct DiagramFormat: Hashable, Sendable {
  fileprivate enum Kind {
    case text, mermaid
  }

  fileprivate let kind: Kind

  /// One line per step, for logs and terminals.
  public static let text = DiagramFormat(kind: .text)

  /// A flow chart in Mermaid syntax (mermaid.js.org).
  public static let mermaid = DiagramFormat(kind: .mermaid)

  /// Escapes a label for a Mermaid flow chart.
  static func escaped(_ label: String) -> String {
    label.reduce(into: "") { text, character in
      switch character {
      case "\"": text += "#quot;"
      case "#": text += "#35;"
      case _ where character.isNewline: text += " "
      default: text.append(character)
      }
    }
  }
}

extension Chain {
  /// Returns a diagram of the chain: its steps, the modifiers that cover them, and nested chains.
  ///
  /// - Parameter format: The format of the diagram.
  /// - Returns: The diagram, in lines that end with a line break.
  public nonisolated func describe(_ format: DiagramFormat = .text) -> String {
    switch format.kind {
    case .text:
      return core.program.outline().map { $0 + "\n" }.joined()
    case .mermaid:
      var chart = FlowChart()
      chart.add(core.program)
      return chart.text
    }
  }
}

extension Program {
  fileprivate func outline(indentation: String = "") -> [String] {
    var lines: [String] = []
    for operation in operations {
      switch operation.node.part {
      case .step: lines.append(indentation + "- " + operation.label)
      case .chains(let chains, let how, _):
        for chain in chains.cores {
          lines.append(indentation + "- \(how) chain")
          lines += chain.program.outline(indentation: indentation + "  ")
        }
      case .recover: lines.append(indentation + "- recover")
      case .enclosing(let how, _), .limit(let how, _):
        lines.append(indentation + "- \(how), for the \(operation.firstStep) above")
      case .onError, .finally, .overlap: break
      }
    }
    if !errorHandlers.isEmpty { lines.append(indentation + "on error: \(errorHandlers.count) handler(s)") }
    if !finallyHandlers.isEmpty { lines.append(indentation + "finally: \(finallyHandlers.count) handler(s)") }
    if gate != nil { lines.append(indentation + "overlap: \(overlap)") }
    return lines
  }
}

extension Program.Operation {
  /// The label of a step in a diagram.
  fileprivate var label: String {
    guard case .step(let name, let isUndoable, _) = node.part else { return "" }
    return (name ?? "step \(firstStep + 1)") + (isUndoable ? ", with undo" : "")
  }
}

/// Draws programs as one flow chart.
private struct FlowChart {
  private var lines = ["flowchart TD"]
  private var count = 0
  /// The nodes from which the next arrows start.
  private var tails: [String] = []

  var text: String { lines.map { $0 + "\n" }.joined() }

  mutating func add(_ program: Program) {
    // A modifier covers all steps before it, so its boxes open at the start, outermost first.
    for enclosing in program.enclosings.reversed() {
      let how: String
      switch program.operations[enclosing].node.part {
      case .enclosing(let what, _), .limit(let what, _): how = what
      default: continue
      }
      open(how)
    }
    for operation in program.operations {
      switch operation.node.part {
      case .step: node(operation.label)
      case .recover: node("recover")
      case .enclosing, .limit: lines.append("end")
      case .chains(let chains, let how, _): add(chains.cores, how: how)
      case .onError, .finally, .overlap: break
      }
    }
  }

  private mutating func add(_ chains: [ChainCore], how: String) {
    let heads = tails
    var ends: [String] = []
    for chain in chains {
      tails = heads
      open(how)
      add(chain.program)
      lines.append("end")
      ends += tails
    }
    tails = ends
  }

  private mutating func node(_ label: String) {
    let id = nextID()
    lines.append("\(id)[\"\(DiagramFormat.escaped(label))\"]")
    for tail in tails { lines.append("\(tail) --> \(id)") }
    tails = [id]
  }

  private mutating func open(_ label: String) {
    lines.append("subgraph \(nextID())[\"\(DiagramFormat.escaped(label))\"]")
  }

  private mutating func nextID() -> String {
    defer { count += 1 }
    return "n\(count)"
  }
}
