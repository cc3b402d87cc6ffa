// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseFleet

  /// A table of the jobs by state and by worker: redrawn on a terminal, otherwise printed at each tenth.
  final class FleetBoard: Sendable {
    private struct State {
      var drawn = 0
      var tenths = -1
    }

    private let isTerminal: Bool
    private let write: @Sendable (String) -> Void
    private let state = Lock(State())

    init(
      isTerminal: Bool = Console.isTerminal(.output),
      write: @escaping @Sendable (String) -> Void = { Console.write($0, to: .output) }
    ) {
      self.isTerminal = isTerminal
      self.write = write
    }

    func show(_ counts: [FleetState: Int], _ workers: [FleetWorkerStatus], _ stages: [String: Int], killed: Int) {
      let total = counts.values.reduce(0, +)
      let columns = [FleetState.queued, .running, .done, .failed].map { "\($0) \(counts[$0] ?? 0)" }
      let others = FleetState.all.filter { ![.queued, .running, .done, .failed].contains($0) && counts[$0] ?? 0 > 0 }
        .map { "\($0) \(counts[$0] ?? 0)" }
      var lines = [(columns + others + ["workers killed \(killed)"]).joined(separator: "  ")]
      for worker in workers {
        lines.append("  process \(worker.name): running \(worker.runningCount), stages \(stages[worker.name] ?? 0)")
      }
      let tenths = total == 0 ? 0 : (counts[.done] ?? 0) * 10 / total
      let text = lines.map { $0 + "\n" }.joined()
      // Written under the lock, so that two tables are not mixed.
      state.withLock { state in
        if isTerminal {
          write((state.drawn > 0 ? "\u{1B}[\(state.drawn)A\r\u{1B}[J" : "") + text)
        } else if tenths != state.tenths {
          write(text)
        }
        (state.drawn, state.tenths) = (lines.count, tenths)
      }
    }
  }

  /// The file in which each stage that runs leaves a line: its job, its name and the process.
  struct FleetJournal {
    let path: String
    private var offset: UInt64 = 0
    private var counts: [String: Int] = [:]

    init(path: String) { self.path = path }

    /// The number of stages that each process has run.
    mutating func stages() -> [String: Int] {
      guard let file = FileHandle(forReadingAtPath: path), (try? file.seek(toOffset: offset)) != nil,
        let data = try? file.readToEnd(), let end = data.lastIndex(of: UInt8(ascii: "\n"))
      else { return counts }
      let lines = data[data.startIndex...end]
      offset += UInt64(lines.count)
      for line in lines.split(separator: UInt8(ascii: "\n")) {
        let process = line.split(separator: UInt8(ascii: " ")).last.map { String(decoding: $0, as: UTF8.self) }
        counts[process ?? "", default: 0] += 1
      }
      return counts
    }

    /// The jobs and stages that ran, without the process.
    func lines() throws -> [String] {
      try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { line in
        line.split(separator: " ").dropLast().joined(separator: " ")
      }
    }
  }
#endif
