// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A failure that a simulation found, with the schedule to repeat it and what ran.
///
/// The description holds all of it. Test frameworks print it when the error leaves a test. To record it at the caller's
/// line with Swift Testing:
///
/// ```swift
/// do {
///   try await explore(seeds: 0..<1_000) { clock in try await transfer(on: clock) }
/// } catch let failure as SimulationFailure {
///   Issue.record(
///     failure,
///     sourceLocation: SourceLocation(
///       fileID: failure.fileID,
///       filePath: failure.filePath,
///       line: failure.line,
///       column: failure.column
///     )
///   )
/// }
/// ```
public struct SimulationFailure: Error, Sendable {
  /// The seed that failed; nil when the schedule was given.
  public let seed: UInt64?
  /// How tasks were chosen.
  public let scheduling: Scheduling
  /// The error of the body under the schedule, or ``SimulationError/stalled``.
  public let error: any Error
  /// The shortest schedule found that fails, for ``simulate(schedule:fileID:filePath:line:column:_:)``.
  public let schedule: String
  /// The number of decisions in ``schedule``, and in the schedule that failed first.
  public let decisionCounts: (shortest: Int, original: Int)
  /// Whether ``schedule`` failed again each time, when it was repeated five times.
  ///
  /// If not, something escapes the simulation or the body depends on something that differs from run to run.
  public let isReproducible: Bool
  /// What ran under the schedule, in order.
  public let trace: SimulationTrace
  /// What escaped the simulation.
  public let escapes: [SimulationEscape]
  /// The caller's file, as `#fileID`.
  public let fileID: String
  /// The caller's file, as `#filePath`.
  public let filePath: String
  /// The caller's line.
  public let line: Int
  /// The caller's column.
  public let column: Int
}

extension SimulationFailure: CustomStringConvertible {
  /// The report: cause, schedule to repeat, trace and escapes.
  public var description: String {
    var lines: [String] = []
    let subject = seed.map { "Seed \($0) (scheduling: \(scheduling))" } ?? "The schedule"
    lines.append("\(subject) fails at \(fileID):\(line): \(error)")
    if isReproducible {
      let count = decisionCounts
      lines.append(
        "Shortest schedule that fails (\(count.shortest) of \(count.original) decisions): simulate(schedule: \"\(schedule)\")"
      )
    } else {
      lines.append("The failure did not repeat under the same schedule: the body depends on more than the schedule.")
    }
    lines.append("What ran:")
    lines += trace.description.split(separator: "\n").map { "  \($0)" }
    if !escapes.isEmpty {
      lines.append("What left the simulation: \(escapes.map(\.description).joined(separator: "; "))")
    }
    return lines.joined(separator: "\n")
  }
}

/// Why a simulation did not complete.
///
/// You find it in the ``SimulationFailure`` that your test receives. Further cases may be added, so end a `switch` over
/// it with `default`.
public enum SimulationError: Error, Hashable, Sendable {
  /// Nothing is ready to run and no task sleeps on the simulation's clock, but the body has not returned: a deadlock,
  /// or a task that waits for something outside the simulation.
  case stalled
  /// The text is not a schedule that a simulation printed.
  case invalidSchedule(String)
  /// A condition of ``require(_:_:)`` does not hold.
  case unmet(String)
}

extension SimulationError: CustomStringConvertible {
  /// The cause and, where there is one, the remedy.
  public var description: String {
    switch self {
    case .stalled:
      """
      The simulation stalled: nothing is ready to run and no task sleeps on its clock, but its body has not returned. It is \
      a deadlock, or a task waits for something outside the simulation: the main actor, an actor with its own executor, \
      another thread, another clock.
      """
    case .invalidSchedule(let text):
      "'\(text)' is not a schedule. Copy the text after 'schedule:' from the report of a failed simulation."
    case .unmet(let message):
      message
    }
  }
}

/// Throws when a condition does not hold, for the body of a simulation.
///
/// A test framework's own expectation reports a failure each time, also while a failing schedule is being shrunk; this
/// function reports it once, through ``SimulationFailure``.
///
/// - Parameters:
///   - condition: What must hold.
///   - message: What was found instead.
/// - Throws: ``SimulationError/unmet(_:)`` with the message.
public func require(_ condition: Bool, _ message: String = "The condition does not hold.")
  throws(SimulationError)
{
  if !condition { throw .unmet(message) }
}

/// Work that left a simulation, whose order the seed does not decide.
///
/// It tells you which call to replace, such as a sleep on another clock than the one you received.
public struct SimulationEscape: Sendable, Hashable {
  /// Where work can go.
  public struct Destination: Sendable, Hashable, CustomStringConvertible {
    /// The destination, in words.
    public let description: String

    /// The main actor.
    public static let mainActor = Destination(description: "the main actor")
    /// The global executor, for `Task { }` and `Task.detached`; the simulation takes this work back and runs it.
    public static let globalExecutor = Destination(
      description: "Task { } or Task.detached, which the simulation took over"
    )
    /// Another thread, from where a task was resumed.
    ///
    /// It is one of a clock other than the simulation's (such as that of `Task.sleep(for:)`), of Dispatch, a thread of
    /// its own, that of an actor with its own executor, or, after `Task.yield()` in a default actor that was called from
    /// `Task { }` or `Task.detached`, one of the default executor. The runtime does not show which.
    public static let outside = Destination(
      description: """
        another thread, from where a task was resumed (another clock, Dispatch, a thread, an actor with its own executor, or \
        Task.yield() in an actor that was called from Task { } or Task.detached)
        """
    )
  }

  /// Where the work went.
  public let destination: Destination
  /// How often.
  public internal(set) var count: Int

  static func list(of counts: [Destination: Int]) -> [SimulationEscape] {
    counts.map { SimulationEscape(destination: $0, count: $1) }
      .sorted { $0.destination.description < $1.destination.description }
  }
}

extension SimulationEscape: CustomStringConvertible {
  /// The destination and the count.
  public var description: String { "\(destination) (\(count)×)" }
}

/// What ran in a simulation, in order, to compare two runs of one seed or to print.
///
/// You can compare traces across machines: two runs with the same seed have equal ones, unless something escaped the
/// simulation.
public struct SimulationTrace: Sendable, Hashable {
  private static let capacity = 10_000

  /// One line for each turn of a task, each move of the clock and each note; only the latest when there are very many.
  public private(set) var lines: [String] = []
  /// The number of earlier entries that are not in ``lines``.
  public private(set) var droppedCount = 0

  mutating func append(_ line: String) {
    if lines.count == Self.capacity {
      lines.removeFirst(Self.capacity / 2)
      droppedCount += Self.capacity / 2
    }
    lines.append(line)
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
