// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import RegexBuilder

/// Checks the syntax of diagrams as far as it can be checked line by line, without the program that draws them.
enum DiagramSyntax {
  struct Problem: Error, CustomStringConvertible {
    let description: String
  }

  static func checkMermaid(_ chart: String) throws {
    var check = Check()
    // No character of a label means anything but itself or an entity.
    let label = /(?:[^"\[\]<>&`\\%|{}$*_;#]|#(?:\d+|quot);)*/
    let node = Regex {
      Capture(/n\d+/)
      ChoiceOf {
        Regex {
          "[\""; label; "\"]"
        }
        Regex {
          "(\""; label; "\")"
        }
        Regex {
          "([\""; label; "\"])"
        }
      }
    }
    let cluster = Regex {
      "subgraph "; Capture(/c\d+/); "[\""; label; "\"]"
    }
    try check.lines(of: chart, first: "flowchart TD") { line in
      if let match = line.wholeMatch(of: node) { return .node(String(match.1)) }
      if let match = line.wholeMatch(of: cluster) { return .open(String(match.1)) }
      if let match = line.wholeMatch(of: /([nc]\d+) (-->|-\.->)(\|"[a-z]+"\|)? (n\d+)/) {
        return .edge([String(match.1), String(match.4)])
      }
      return line.wholeMatch(of: /direction TB|classDef undo .*|class n\d+(,n\d+)* undo/) == nil ? nil : .other
    }
  }

  private enum Line {
    case node(String)
    case open(String)
    case edge([String])
    case other
  }

  private struct Check {
    var known: Set<String> = []
    var used: [String] = []
    var depth = 0

    mutating func lines(of text: String, first: String, _ parse: (Substring) -> Line?) throws {
      guard text.hasPrefix(first + "\n"), text.hasSuffix("\n") else { throw Problem(description: "no \(first)") }
      for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().dropLast() {
        if line == "end" {
          depth -= 1
          guard depth >= 0 else { throw Problem(description: "closed too often") }
          continue
        }
        switch parse(line) {
        case .node(let id): try declare(id)
        case .open(let id):
          try declare(id)
          depth += 1
        case .edge(let ids): used += ids
        case .other: break
        case nil: throw Problem(description: "cannot be read: \(line)")
        }
      }
      guard depth == 0 else { throw Problem(description: "\(depth) clusters are open") }
      if let unknown = used.first(where: { !known.contains($0) }) {
        throw Problem(description: "\(unknown) is unknown")
      }
    }

    private mutating func declare(_ id: String) throws {
      guard known.insert(id).inserted else { throw Problem(description: "\(id) is declared twice") }
    }
  }
}
