// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What ran in a simulation, in order.
///
/// Two runs with the same seed have equal traces, on every machine, unless something escaped the simulation.
public struct SimulationTrace: Sendable, Hashable {
  enum Entry: Sendable, Hashable {
    case ran(task: Int?, ready: Int)
    case advanced(to: ManualClock.Instant)
    case note(String, task: Int?)
  }

  private static let capacity = 10_000

  /// The latest entries; bounded.
  private(set) var entries: [Entry] = []
  /// The number of earlier entries that are not in ``lines``.
  public private(set) var droppedCount = 0

  init() {}

  mutating func append(_ entry: Entry) {
    if entries.count == Self.capacity {
      entries.removeFirst(Self.capacity / 2)
      droppedCount += Self.capacity / 2
    }
    entries.append(entry)
  }

  /// One line for each turn of a task, each move of the clock and each note; only the latest when there are very many.
  public var lines: [String] {
    entries.map { entry in
      switch entry {
      case .ran(let task, 1): "\(Self.name(task))"
      case .ran(let task, let ready): "\(Self.name(task)), one of \(ready) ready"
      case .advanced(let instant): "the clock moves to \(instant.offset)"
      case .note(let text, let task): "  \(Self.name(task)): \(text)"
      }
    }
  }

  static func name(_ task: Int?) -> String {
    task.map { "task \($0)" } ?? "an unknown task"
  }
}

extension SimulationTrace: CustomStringConvertible {
  /// The lines; the first and the last ones when there are very many.
  public var description: String {
    let lines = lines
    guard lines.count > 80 else { return lines.joined(separator: "\n") }
    let left = droppedCount + lines.count - 80
    return (lines.prefix(40) + ["… \(left) more …"] + lines.suffix(40)).joined(separator: "\n")
  }
}
