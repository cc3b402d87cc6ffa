// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import CommandKit
import Stepwise
import StepwiseTracing

/// Shows the progress of some work: one line that is redrawn on a terminal, otherwise a plain line at each tenth.
struct ProgressBar {
  private static let width = 24

  var isTerminal = Console.isTerminal
  var write: (String) -> Void = { text in Console.print(text, to: .output) }
  private var percent = -1
  /// The content of the terminal's line.
  private var line = ""

  init() {}

  /// Shows the progress of a run until it completes.
  mutating func follow(_ progress: some AsyncSequence<ChainProgress, Never>) async {
    for await update in progress { show(fraction: update.fractionCompleted, label: update.step) }
    if !line.isEmpty { write("\n") }
  }

  /// Shows a fraction between 0 and 1 and a label; a smaller fraction than before does not move the bar.
  mutating func show(fraction: Double, label: String) {
    let before = percent
    percent = max(before, fraction > 0 ? Int(min(fraction, 1) * 100) : 0)
    let digits = String(repeating: " ", count: 3 - String(percent).count) + "\(percent)%"
    // Cut, because a line that is longer than the terminal's width cannot be redrawn.
    let text = "\(digits)  \(label.onOneLine.prefix(40))"
    guard isTerminal else {
      if before < 0 || percent / 10 > before / 10 { write(text + "\n") }
      return
    }
    let filled = percent * Self.width / 100
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: Self.width - filled)
    let leftover = String(repeating: " ", count: max(0, line.count - text.count))
    guard text != line else { return }
    write("\r[\(bar)] \(text)\(leftover)")
    line = text
  }
}
