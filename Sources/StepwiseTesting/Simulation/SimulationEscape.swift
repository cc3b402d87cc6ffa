// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Work that left a simulation, where the order and the time are not the simulation's.
public struct SimulationEscape: Sendable, Hashable {
  /// Where work can go.
  public struct Destination: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable { case mainActor, globalExecutor, outside }
    let kind: Kind

    /// The main actor.
    public static let mainActor = Destination(kind: .mainActor)
    /// The global executor, for `Task { }` and `Task.detached`; the simulation takes this work back and runs it.
    public static let globalExecutor = Destination(kind: .globalExecutor)
    /// Another thread, from where a task was resumed.
    ///
    /// It is one of a clock other than the simulation's (such as that of `Task.sleep(for:)`), of Dispatch, a thread of
    /// its own, or that of an actor with its own executor. The runtime does not show which.
    public static let outside = Destination(kind: .outside)

    /// The destination, in words.
    public var description: String {
      switch kind {
      case .mainActor: "the main actor"
      case .globalExecutor: "Task { } or Task.detached, which the simulation took over"
      case .outside:
        "another thread, from where a task was resumed (another clock, Dispatch, a thread, an actor with its own executor)"
      }
    }
  }

  /// Where the work went.
  public let destination: Destination
  /// How often.
  public internal(set) var count: Int
}

extension SimulationEscape: CustomStringConvertible {
  /// The destination and the count.
  public var description: String { "\(destination) (\(count)×)" }
}
