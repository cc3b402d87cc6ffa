// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How `describe` draws a chain.
public struct DiagramFormat: Hashable, Sendable {
  fileprivate enum Kind {
    case text, mermaid
  }

  fileprivate let kind: Kind

  /// A line a step, for logs and terminals.
  public static let text = DiagramFormat(kind: .text)

  /// A flow chart in the language of Mermaid (mermaid.js.org).
  public static let mermaid = DiagramFormat(kind: .mermaid)

  /// A label as a flow chart of Mermaid takes it.
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
  /// Draws the chain: its steps, what covers them, and the chains within.
  ///
  /// - Parameter format: How it is drawn.
  /// - Returns: The drawing, in lines that end with a line break.
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
      case .enclosing(let how, _): lines.append(indentation + "- \(how), for the \(operation.firstStep) above")
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
  /// What a description calls a step.
  fileprivate var label: String {
    guard case .step(let name, let isUndoable, _) = node.part else { return "" }
    return (name ?? "step \(firstStep + 1)") + (isUndoable ? ", with undo" : "")
  }
}

/// Draws programs as one flow chart.
private struct FlowChart {
  private var lines = ["flowchart TD"]
  private var count = 0
  /// Whence the next arrow comes.
  private var tails: [String] = []

  var text: String { lines.map { $0 + "\n" }.joined() }

  mutating func add(_ program: Program) {
    // What covers steps covers all before it: so its boxes are opened at the beginning, outermost first.
    for enclosing in program.enclosings.reversed() {
      guard case .enclosing(let how, _) = program.operations[enclosing].node.part else { continue }
      open(how)
    }
    for operation in program.operations {
      switch operation.node.part {
      case .step: node(operation.label)
      case .recover: node("recover")
      case .enclosing: lines.append("end")
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
