// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Shows a flow's screens in a terminal, one below the other, and hands over what is typed.
@MainActor
final class TerminalNavigator: FlowNavigator {
  private var stack: [TerminalScreen] = []
  private var presented: [TerminalScreen] = []
  /// What was typed and no screen has taken yet.
  private var lines: [String] = []
  /// The lines come from a script, which nobody sees typed.
  private let isScripted: Bool

  init(script: [String]? = nil) {
    isScripted = script != nil
    lines = script ?? []
  }

  private var visible: TerminalScreen? { presented.last ?? stack.last }

  func push(_ screen: TerminalScreen) {
    stack.append(screen)
    show()
  }

  func replace(_ screen: TerminalScreen?, with newScreen: TerminalScreen) {
    let old = screen ?? stack.last
    guard let index = stack.firstIndex(where: { $0 === old }) else { return push(newScreen) }
    stack[index] = newScreen
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

  /// Hands a line to the screen that is seen, as soon as that asks.
  func type(_ line: String) {
    lines.append(line)
    handOver()
  }

  private func handOver() {
    while let visible, visible.isAsking, !lines.isEmpty {
      let line = lines.removeFirst()
      if isScripted { Console.writeLine("> \(line)") }
      if !visible.type(line) { Console.writeLine("  (type \(visible.hint) or back)") }
    }
  }

  private func show() {
    guard let visible else { return }
    Console.writeLine("\(visible.title): \(visible.text)")
    if !isScripted { Console.writeLine("  type \(visible.hint) or back") }
    // Not at once: the flow has only begun to ask.
    Task { handOver() }
  }
}
