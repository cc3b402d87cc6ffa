// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Shows the progress of some work: one line that is redrawn on a terminal, otherwise a plain line at each tenth.
///
/// It may be used from any thread, and never decreases.
final class ProgressBar: Sendable {
  private struct State {
    var percent = -1
    /// The content of the terminal's line.
    var line = ""
    var isFinished = false
  }

  private let width: Int
  private let isTerminal: Bool
  private let write: @Sendable (String) -> Void
  private let state = Lock(State())

  /// Creates a bar, which is not drawn before the first call of `show`.
  init(
    width: Int = 24,
    isTerminal: Bool = Console.isTerminal(.output),
    write: @escaping @Sendable (String) -> Void = { text in Console.write(text, to: .output) }
  ) {
    self.width = max(1, width)
    self.isTerminal = isTerminal
    self.write = write
  }

  /// Shows a fraction between 0 and 1 and a label; a smaller fraction than before does not move the bar.
  func show(fraction: Double, label: String) {
    // Written under the lock, so that two threads do not draw into each other or in the wrong order.
    state.withLock { state in
      guard !state.isFinished else { return }
      let before = state.percent
      state.percent = max(before, Self.percent(fraction), 0)
      if isTerminal {
        draw(label: label, in: &state)
      } else if before < 0 || state.percent / 10 > before / 10 {
        write("\(Self.padded(state.percent))%  \(Console.oneLine(label))\n")
      }
    }
  }

  /// Leaves the bar as it is and moves to the next line; later calls have no effect.
  func finish() {
    state.withLock { state in
      guard !state.isFinished else { return }
      state.isFinished = true
      if !state.line.isEmpty { write("\n") }
    }
  }

  /// Shows the progress of a run until it completes.
  func follow(_ progress: some AsyncSequence<ChainProgress, Never>) async {
    for await update in progress { show(fraction: update.fractionCompleted, label: update.step) }
    finish()
  }

  private func draw(label: String, in state: inout State) {
    let filled = state.percent * width / 100
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
    // Cut, because a line that is longer than the terminal's width cannot be redrawn.
    let line = "[\(bar)] \(Self.padded(state.percent))%  \(Console.oneLine(label).prefix(40))"
    guard line != state.line else { return }
    let leftover = String(repeating: " ", count: max(0, state.line.count - line.count))
    write("\r" + line + leftover)
    state.line = line
  }

  /// The whole percents of a fraction, 0 for what is not a number.
  private static func percent(_ fraction: Double) -> Int {
    fraction > 0 ? Int(min(fraction, 1) * 100) : 0
  }

  private static func padded(_ percent: Int) -> String {
    let digits = String(percent)
    return String(repeating: " ", count: max(0, 3 - digits.count)) + digits
  }
}
