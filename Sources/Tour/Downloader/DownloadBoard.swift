// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Shows how far downloads are: a line each, which is drawn again on a terminal; otherwise a plain line at each tenth.
///
/// It may be told from any thread.
final class DownloadBoard: Sendable {
  private struct State {
    var rows: [DownloadLine] = []
    /// How many lines stand on the terminal that can be drawn again.
    var drawn = 0
    var lastDraw: ContinuousClock.Instant?
  }

  private let isTerminal: Bool
  private let width: Int
  private let write: @Sendable (String) -> Void
  private let start = ContinuousClock.now
  private let state = Lock(State())

  init(
    isTerminal: Bool = Console.isTerminal(.output),
    width: Int = 79,
    write: @escaping @Sendable (String) -> Void = { text in Console.write(text, to: .output) }
  ) {
    self.isTerminal = isTerminal
    self.width = width
    self.write = write
  }

  /// Adds a line.
  func row(for order: DownloadOrder) -> Row {
    state.withLock { state in
      state.rows.append(DownloadLine(name: order.name))
      return Row(board: self, index: state.rows.count - 1)
    }
  }

  /// The line of one download.
  struct Row: Sendable {
    fileprivate let board: DownloadBoard
    fileprivate let index: Int

    func show(_ news: DownloadNews) { board.show(news, at: index) }

    /// Says how it has ended; what is shown afterwards is ignored.
    func end(_ words: String) { board.end(words, at: index) }
  }

  private func show(_ news: DownloadNews, at index: Int) {
    let now = start.duration(to: .now)
    // Written under the lock, so that two threads do not draw into each other or in the wrong order.
    state.withLock { state in
      let plain = state.rows[index].note(news, at: now)
      if isTerminal {
        draw(&state, isUrgent: false)
      } else if let plain {
        write(plain + "\n")
      }
    }
  }

  private func end(_ words: String, at index: Int) {
    state.withLock { state in
      let plain = state.rows[index].end(words)
      if isTerminal { draw(&state, isUrgent: true) } else { write(plain + "\n") }
    }
  }

  /// Draws all lines again; not more than ten times a second, unless it is urgent.
  private func draw(_ state: inout State, isUrgent: Bool) {
    let now = ContinuousClock.now
    if !isUrgent, let last = state.lastDraw, last.duration(to: now) < .milliseconds(100) { return }
    state.lastDraw = now
    let up = state.drawn > 0 ? "\u{1B}[\(state.drawn)A" : ""
    write(up + state.rows.map { row in "\r\(row.text(width: width))\u{1B}[K\n" }.joined())
    state.drawn = state.rows.count
  }
}
