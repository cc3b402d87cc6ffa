// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// How a simulation chooses among the tasks that are ready to run.
///
/// - ``uniform`` chooses each ready task with the same probability. It is the default, and it finds races that many
///   interleavings show.
/// - ``pct(depth:length:)`` gives each task a random priority, always runs the ready task with the highest one, and
///   changes priorities at a few random points. It finds bugs that need few but specific changes of order, which
///   uniform choice rarely produces in a long run.
public struct Scheduling: Sendable, Hashable {
  enum Kind: Sendable, Hashable {
    case uniform
    case pct(depth: Int, length: Int?)
  }

  let kind: Kind

  /// Chooses each ready task with the same probability.
  public static let uniform = Scheduling(kind: .uniform)

  /// Chooses by random priorities with a few change points (probabilistic concurrency testing).
  ///
  /// A bug of depth *d* in a run of *k* steps of *n* tasks is found by one seed with a probability of at least
  /// 1 / (n · k^(d-1)): S. Burckhardt, P. Kothari, M. Musuvathi, S. Nagarakatte, "A Randomized Scheduler with
  /// Probabilistic Guarantees of Finding Bugs", ASPLOS 2010. Unlike the paper's scheduler, this one lowers the priority
  /// of a task that ran 100 times in a row while others were ready, so that a task that waits by yielding does not
  /// block the others.
  ///
  /// - Parameters:
  ///   - depth: The number of ordering constraints that the bug needs; depth - 1 change points are chosen. Values below
  ///     1 count as 1.
  ///   - length: The number of steps among which the change points are chosen. When nil, the number of steps that the
  ///     body takes when each task runs as long as it is ready, which costs one more run of the body.
  /// - Returns: The scheduling.
  public static func pct(depth: Int, length: Int? = nil) -> Scheduling {
    Scheduling(kind: .pct(depth: max(1, depth), length: length.map { max(1, $0) }))
  }
}

extension Scheduling: CustomStringConvertible {
  /// The expression that makes this value.
  public var description: String {
    switch kind {
    case .uniform: ".uniform"
    case .pct(let depth, nil): ".pct(depth: \(depth))"
    case .pct(let depth, let length?): ".pct(depth: \(depth), length: \(length))"
    }
  }
}
