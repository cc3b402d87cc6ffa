// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The format of a diagram that `describe` returns.
///
/// The same chain, flow, job or list of stages yields the same text in each format, byte for byte.
public struct DiagramFormat: Hashable, Sendable {
  private enum Kind {
    case text, mermaid
  }

  private let kind: Kind

  /// An indented list, for logs and terminals.
  public static let text = DiagramFormat(kind: .text)

  /// A flow chart in Mermaid syntax (mermaid.js.org).
  public static let mermaid = DiagramFormat(kind: .mermaid)

  /// Returns a diagram in this format, in lines that end with a line break.
  func text(of diagram: Diagram) -> String {
    let lines =
      switch kind {
      case .text: diagram.outline
      case .mermaid: diagram.mermaid
      }
    return lines.map { $0 + "\n" }.joined()
  }
}
