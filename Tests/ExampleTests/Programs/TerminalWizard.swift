// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseTesting

/// What the wizard asks for.
struct Order: Codable, Sendable, Equatable {
  var name = ""
  var size = ""
  var count = 0
}

/// A terminal with a script of lines: "<" goes back, "!" interrupts.
@MainActor final class Terminal {
  struct Interrupted: Error {}

  private(set) var shown: [String] = []
  private var lines: [String]

  init(_ lines: [String]) { self.lines = lines }

  func show(_ text: String) { shown.append(text) }

  func readLine() -> String { lines.isEmpty ? "!" : lines.removeFirst() }
}
