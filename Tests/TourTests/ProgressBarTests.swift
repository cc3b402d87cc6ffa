// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import Testing

@testable import Tour

/// What the bar draws, on a terminal and elsewhere.
@Suite struct ProgressBarTests {
  /// Collects what is written.
  private final class Screen: Sendable {
    private let texts = Lock<[String]>([])
    var written: [String] { texts.withLock { texts in texts } }
    func write(_ text: String) { texts.withLock { texts in texts.append(text) } }
  }

  @Test func drawsOverItsLineOnATerminal() {
    let screen = Screen()
    let bar = ProgressBar(width: 10, isTerminal: true, write: screen.write)
    bar.show(fraction: 0, label: "download")
    bar.show(fraction: 0.456, label: "download")
    bar.show(fraction: 0.457, label: "download")
    bar.show(fraction: 1, label: "save")
    bar.finish()
    bar.finish()
    bar.show(fraction: 1, label: "late")
    #expect(
      screen.written == [
        "\r[..........]   0%  download", "\r[####......]  45%  download", "\r[##########] 100%  save    ", "\n",
      ]
    )
  }

  @Test func writesALineAtEachTenthElsewhere() {
    let screen = Screen()
    let bar = ProgressBar(isTerminal: false, write: screen.write)
    for step in 0...100 { bar.show(fraction: Double(step) / 100, label: "step") }
    bar.finish()
    #expect(screen.written.count == 11)
    #expect(screen.written.first == "  0%  step\n")
    #expect(screen.written.last == "100%  step\n")
  }

  @Test func neverGoesBack() {
    let screen = Screen()
    let bar = ProgressBar(width: 4, isTerminal: true, write: screen.write)
    for fraction in [0.5, 0.2, -.infinity, .nan, .infinity, 0] { bar.show(fraction: fraction, label: "a") }
    #expect(screen.written == ["\r[##..]  50%  a", "\r[####] 100%  a"])
  }

  @Test func keepsALongLabelOnOneLine() {
    let screen = Screen()
    let bar = ProgressBar(width: 1, isTerminal: true, write: screen.write)
    bar.show(fraction: 0, label: String(repeating: "long\n", count: 100))
    #expect(screen.written.allSatisfy { text in text.count < 80 && !text.contains("\n") })
  }

  @Test func takesCallsFromManyThreads() async {
    let screen = Screen()
    let bar = ProgressBar(isTerminal: false, write: screen.write)
    await withTaskGroup { group in
      for step in 0...1000 {
        group.addTask { bar.show(fraction: Double(step) / 1000, label: "a") }
      }
    }
    #expect(screen.written == screen.written.sorted())
    #expect(screen.written.last == "100%  a\n")
  }
}
