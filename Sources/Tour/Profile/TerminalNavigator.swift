// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFlows

/// Shows a flow's screens in a terminal, one below the other, and passes them the typed lines.
@MainActor
final class TerminalNavigator: FlowNavigator {
  private var stack: [TerminalScreen] = []
  private var presented: [TerminalScreen] = []
  /// The typed lines that no screen has received yet.
  private var lines: [String] = []
  /// Whether the lines come from a script, so that they are echoed.
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

  /// Passes a line to the visible screen as soon as it waits for one.
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
    // Not immediately, because the flow is still presenting the screen.
    Task { handOver() }
  }
}
