// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Shows a flow's screens in a terminal, one below the other, and hands over what is typed.
@MainActor
final class TerminalNavigator: FlowNavigator {
  private var stack: [TerminalScreen] = []
  private var presented: [TerminalScreen] = []
  /// Gives the next line of a script, for a run without a user; nil where the user types.
  var script: (() -> String?)?

  private var visible: TerminalScreen? { presented.last ?? stack.last }

  func push(_ screen: TerminalScreen) {
    stack.append(screen)
    show()
  }

  func replace(_ screen: TerminalScreen?, with newScreen: TerminalScreen) {
    if let index = stack.firstIndex(where: { $0 === screen }) {
      stack[index] = newScreen
    } else {
      stack = stack.dropLast() + [newScreen]
    }
    show()
  }

  func pop(_ screen: TerminalScreen) {
    stack.removeAll { $0 === screen }
  }

  func present(_ screen: TerminalScreen) {
    presented.append(screen)
    show()
  }

  func dismiss(_ screen: TerminalScreen) {
    presented.removeAll { $0 === screen }
  }

  /// Hands a line to the screen that is seen.
  func type(_ line: String) {
    guard let visible else { return Console.writeLine("  (nobody asks)") }
    if !visible.type(line) { Console.writeLine("  (type \(visible.hint) or back)") }
  }

  private func show() {
    guard let screen = visible else { return }
    Console.writeLine("\(screen.title): \(screen.text)")
    guard let script else { return Console.writeLine("  type \(screen.hint) or back") }
    guard let line = script() else { return }
    Console.writeLine("> \(line)")
    // Not at once: the flow has only begun to ask.
    Task { type(line) }
  }
}
