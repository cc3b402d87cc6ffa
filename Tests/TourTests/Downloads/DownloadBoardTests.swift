// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseHTTP
import Testing

@testable import Tour

/// What a user sees of many downloads, on terminals of all sizes.
@Suite(.timeLimit(.minutes(5))) struct DownloadBoardTests {
  private static func order(_ name: String) -> DownloadOrder { DownloadOrder(address: "", path: name, digest: nil) }

  @Test func aTerminalIsRedrawnAndAFileIsNot() {
    for isTerminal in [true, false] {
      let screen = Lock(TestTerminal(columns: 80, rows: 24))
      let written = Lock("")
      let board = DownloadBoard(isTerminal: isTerminal, size: { Console.Size() }) { text in
        written.withLock { $0 += text }
        screen.withLock { $0.write(text) }
      }
      let rows = ["a", "b"].map { board.row(for: Self.order($0)) }
      rows[0].end("saved")
      rows[1].end("failed")
      if isTerminal {
        #expect(screen.withLock { $0.lines } == ["a: saved", "b: failed"])
        #expect(written.withLock { $0.contains("\u{1B}[1A") })
      } else {
        #expect(written.withLock { $0 } == "a: saved\nb: failed\n")
      }
    }
  }

  @Test func quietReportsFailuresOnly() {
    for isTerminal in [true, false] {
      let written = Lock("")
      let board = DownloadBoard(
        isTerminal: isTerminal,
        isQuiet: true,
        write: { text in written.withLock { $0 += text } }
      )
      let rows = ["a", "b"].map { board.row(for: Self.order($0)) }
      rows[0].show(.progress(HTTPDownloadProgress(receivedBytes: 1, totalBytes: 2)))
      rows[0].end("saved")
      rows[1].end("failed: why", isFailure: true)
      #expect(written.withLock { $0 } == "b: failed: why\n")
    }
  }

  /// Whatever the size: each download that has ended stands there once, whole, and nothing else is left.
  @Test(arguments: [(80, 15), (80, 3), (80, 2), (80, 1), (20, 15), (8, 15), (2, 4), (1, 1)])
  func manyDownloadsFitOnSmallTerminals(columns: Int, rows: Int) {
    for (active, seed) in [(4, 1), (20, 2), (31, 3)] {
      let screen = Lock(TestTerminal(columns: columns, rows: rows))
      let board = DownloadBoard(isTerminal: true, size: { Console.Size(columns: columns, rows: rows) }) { text in
        screen.withLock { $0.write(text) }
      }
      var random = SeededGenerator(seed: UInt64(seed))
      let names = (1...31).map { "file-\($0)-文件.bin" }
      var (waiting, current, ended) = (names[...], [(name: String, row: DownloadBoard.Row)](), [String]())
      while !waiting.isEmpty || !current.isEmpty {
        if current.count < active, let name = waiting.popFirst() {
          current.append((name, board.row(for: Self.order(name))))
          continue
        }
        let index = Int.random(in: 0..<current.count, using: &random)
        current[index].row.show(.progress(HTTPDownloadProgress(receivedBytes: 5, totalBytes: 10)))
        let (name, row) = current.remove(at: index)
        row.end("saved")
        ended.append("\(name): saved")
        // What is in progress is on the screen as well as what fits.
        let expected = ended.flatMap { TestTerminal.wrapped($0, columns: columns) }
        let lines = screen.withLock { $0.lines }
        #expect(Array(lines.prefix(expected.count)) == expected)
        #expect(lines.count - expected.count <= rows - 1)
      }
      let expected = ended.flatMap { TestTerminal.wrapped($0, columns: columns) }
      #expect(screen.withLock { $0.lines } == expected)
    }
  }

  @Test(arguments: [
    ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("文件", 4, "文件"), ("文件", 3, "文…"), ("文件", 2, "…"), ("a", 0, ""),
  ])
  func aTextIsCutToColumns(text: String, columns: Int, cut: String) {
    #expect(TextWidth.cut(text, to: columns) == cut)
  }

  @Test func aTerminalThatWasResizedIsNotDrawnOver() {
    let size = Lock(Console.Size(columns: 80, rows: 24))
    let written = Lock("")
    let board = DownloadBoard(isTerminal: true, size: { size.withLock { $0 } }) { text in
      written.withLock { $0 += text }
    }
    let rows = ["a", "b", "c"].map { board.row(for: Self.order($0)) }
    rows[0].end("saved")
    size.withLock { $0.columns = 10 }
    rows[1].end("saved")
    #expect(written.withLock { !$0.contains("\u{1B}[2A") })
    rows[2].end("saved")
    #expect(written.withLock { $0.contains("\u{1B}[1A") })
  }
}

/// As much of a terminal as the board uses: what it shows, with what has scrolled away above it.
struct TestTerminal {
  private let columns: Int
  private let rows: Int
  private var all: [String] = [""]
  private var row = 0
  private var column = 0

  init(columns: Int, rows: Int) {
    self.columns = columns
    self.rows = rows
  }

  /// All lines, without empty ones at the end.
  var lines: [String] {
    var lines = all
    while lines.last == "" { lines.removeLast() }
    return lines
  }

  mutating func write(_ text: String) {
    var rest = text.unicodeScalars[...]
    while let scalar = rest.popFirst() {
      switch scalar {
      case "\r": column = 0
      case "\n":
        column = 0
        down()
      case "\u{1B}":
        rest.removeFirst()
        let number = rest.prefix { $0.properties.numericType != nil }
        rest = rest.dropFirst(number.count)
        let command = rest.removeFirst()
        if command == "A" {
          // What has scrolled away cannot be reached.
          row = max(row - (Int(String(number)) ?? 1), max(0, all.count - rows))
        } else if command == "J" {
          all[row] = column == 0 ? "" : all[row]
          all.removeSubrange((row + 1)...)
        }
      default: put(Character(scalar))
      }
    }
  }

  private mutating func put(_ character: Character) {
    let width = TextWidth.of(String(character))
    if column + width > columns, column > 0 {
      column = 0
      down()
    }
    all[row].append(character)
    column += width
  }

  private mutating func down() {
    row += 1
    if row == all.count { all.append("") }
  }

  /// A line as a terminal shows it.
  static func wrapped(_ line: String, columns: Int) -> [String] {
    var terminal = TestTerminal(columns: columns, rows: 1)
    terminal.write(line)
    return terminal.lines
  }
}
