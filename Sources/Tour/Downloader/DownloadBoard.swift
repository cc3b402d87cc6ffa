// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Shows the state of downloads: on a terminal a line for each running one, which is redrawn; otherwise a plain line at
/// each tenth.
///
/// A completed download leaves a line that scrolls up, so that only the running ones have to fit on the screen. It may
/// be used from any thread.
final class DownloadBoard: Sendable {
  private struct State {
    var rows: [DownloadLine] = []
    /// The rows in progress, in the order in which they started.
    var active: [Int] = []
    /// The number of lines on the terminal that can be redrawn, and the width to which they were cut.
    var drawn = 0
    var width = 0
    var lastDraw: ContinuousClock.Instant?
  }

  private let isTerminal: Bool
  private let isQuiet: Bool
  private let size: @Sendable () -> Console.Size
  private let write: @Sendable (String) -> Void
  private let start = ContinuousClock.now
  private let state = Lock(State())

  init(
    isTerminal: Bool = Console.isTerminal(.error),
    isQuiet: Bool = false,
    size: @escaping @Sendable () -> Console.Size = { Console.size(.error) },
    write: @escaping @Sendable (String) -> Void = { text in Console.write(text, to: .error) }
  ) {
    self.isTerminal = isTerminal && !isQuiet
    self.isQuiet = isQuiet
    self.size = size
    self.write = write
  }

  /// Adds a line.
  func row(for order: DownloadOrder) -> Row {
    state.withLock { state in
      state.rows.append(DownloadLine(name: order.name))
      state.active.append(state.rows.count - 1)
      return Row(board: self, index: state.rows.count - 1)
    }
  }

  /// The line of one download.
  struct Row: Sendable {
    fileprivate let board: DownloadBoard
    fileprivate let index: Int

    func show(_ news: DownloadNews) { board.show(news, at: index) }

    /// Shows the outcome; later updates are ignored.
    ///
    /// A failure is shown even when nothing else is.
    func end(_ words: String, isFailure: Bool = false) { board.end(words, isFailure: isFailure, at: index) }
  }

  private func show(_ news: DownloadNews, at index: Int) {
    guard !isQuiet else { return }
    let now = start.duration(to: .now)
    // Written under the lock, so that two threads do not draw into each other or in the wrong order.
    state.withLock { state in
      let plain = state.rows[index].note(news, at: now)
      if isTerminal {
        draw(&state, ended: nil)
      } else if let plain {
        write(plain + "\n")
      }
    }
  }

  private func end(_ words: String, isFailure: Bool, at index: Int) {
    state.withLock { state in
      let plain = state.rows[index].end(words)
      state.active.removeAll { $0 == index }
      if isTerminal {
        draw(&state, ended: index)
      } else if !isQuiet || isFailure {
        write(plain + "\n")
      }
    }
  }

  /// Draws a completed row, and redraws those in progress, at most ten times a second.
  private func draw(_ state: inout State, ended: Int?) {
    let now = ContinuousClock.now
    if ended == nil, let last = state.lastDraw, last.duration(to: now) < .milliseconds(100) { return }
    state.lastDraw = now
    let size = size()
    // Lines that were cut for another width may have been wrapped since, so their position is unknown.
    let canRedraw = state.drawn > 0 && state.width == size.columns
    var text = canRedraw ? "\u{1B}[\(state.drawn)A\r\u{1B}[J" : ""
    // One column stays free: some terminals wrap a line that fills the last.
    let width = max(1, size.columns - 1)
    if let ended { text += state.rows[ended].text(width: nil) + "\n" }
    // On a screen of one row nothing can be redrawn.
    let room = size.rows - 1
    let shown = state.active.count > room ? state.active.prefix(max(0, room - 1)) : state.active[...]
    for row in shown { text += state.rows[row].text(width: width) + "\n" }
    let others = state.active.count - shown.count
    if others > 0, room > 0 { text += TextWidth.cut("… and \(others) more", to: width) + "\n" }
    write(text)
    state.drawn = min(room, state.active.count)
    state.width = size.columns
  }
}
