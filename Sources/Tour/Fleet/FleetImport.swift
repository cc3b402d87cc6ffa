// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseFleet

  /// An import of a text that is made up from its number: read, count the words of each part, add them up.
  enum FleetImport: Progression, Codable, Equatable {
    static let partCount = 4
    private static let journalPath = Lock("")

    /// The file in which each stage that runs leaves a line.
    static var journal: String {
      get { journalPath.withLock { $0 } }
      set { journalPath.withLock { $0 = newValue } }
    }

    case read(number: Int)
    case count(number: Int, part: Int, words: Int)
    case done(words: Int)

    func next() async throws -> FleetImport {
      defer { note() }
      switch self {
      case .read(let number): return .count(number: number, part: 0, words: 0)
      case .count(let number, Self.partCount, let words): return .done(words: words + number % 3)
      case .count(let number, let part, let words):
        let text = (0..<2_000).map { ($0 * (number + part)).isMultiple(of: 7) ? " " : "x" }.joined()
        return .count(number: number, part: part + 1, words: words + text.split(separator: " ").count)
      case .done: return try completed()
      }
    }

    var result: Int? { if case .done(let words) = self { words } else { nil } }

    private var stage: String {
      switch self {
      case .read: "read"
      case .count(_, let part, _): "count \(part)"
      case .done: "done"
      }
    }

    private func note() {
      guard let id = FleetJob.current?.id else { return }
      let file = open(Self.journal, O_WRONLY | O_APPEND | O_CREAT, 0o600)
      let line = Array("\(id) \(stage) \(getpid())\n".utf8)
      _ = write(file, line, line.count)
      close(file)
    }
  }
#endif
