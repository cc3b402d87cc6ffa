// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Testing

@testable import Tour

/// What the bar draws, on a terminal and elsewhere.
@Suite struct ProgressBarTests {
  /// What is written when a bar shows these fractions.
  private func written(isTerminal: Bool, label: String = "step", _ fractions: [Double]) -> [String] {
    var written: [String] = []
    withoutActuallyEscaping({ written.append($0) }) { write in
      var bar = ProgressBar()
      (bar.isTerminal, bar.write) = (isTerminal, write)
      for fraction in fractions { bar.show(fraction: fraction, label: label) }
    }
    return written
  }

  @Test func `A terminal's line is redrawn`() {
    let (empty, half) = (String(repeating: ".", count: 24), String(repeating: "#", count: 12))
    #expect(
      written(isTerminal: true, [0, 0.5, 0.501, 1]) == [
        "\r[\(empty)]   0%  step", "\r[\(half)\(half.map { _ in "." }.joined())]  50%  step",
        "\r[\(half)\(half)] 100%  step",
      ]
    )
  }

  @Test func `Each tenth is a line where there is no terminal`() {
    let lines = written(isTerminal: false, (0...100).map { Double($0) / 100 })
    #expect(lines.count == 11)
    #expect(lines.first == "  0%  step\n")
    #expect(lines.last == "100%  step\n")
  }

  @Test func `Progress never goes back`() {
    let lines = written(isTerminal: false, [0.5, 0.2, -.infinity, .nan, .infinity, 0])
    #expect(lines == [" 50%  step\n", "100%  step\n"])
  }

  @Test func `A long label stays on one line`() {
    let lines = written(isTerminal: true, label: String(repeating: "long\n", count: 100), [0])
    #expect(lines.allSatisfy { text in text.count < 80 && !text.contains("\n") })
  }
}
