// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What happened in a run, with times: a ring that counts what it dropped.
package struct RunLog: Sendable {
  package enum Event: Sendable {
    /// A run of so many steps has started.
    case runStarted(ChainIdentity?, Nesting)
    /// The number of the run that has just started.
    case runIdentified(UInt64)
    case runSucceeded
    case runFailed(Failure)
    case runCancelled(CancellationCause)
    case stepStarted
    case stepFinished(Failure?)
    case undone(Failure?)
    /// The attempt with this number has failed, and another one follows.
    case attemptFailed(Failure)
    /// So many steps were cancelled by their time limit.
    case timedOut
    /// So many steps were abandoned by a run at this depth.
    case abandoned(depth: Int)
    /// An error was replaced with a value.
    case recovered
  }

  /// An error; only its type, unless the run is traced explicitly, because errors belong to the user.
  package enum Failure: Sendable {
    case error(any Error)
    case type(any Any.Type)

    package var isCancellation: Bool {
      switch self {
      case .error(let error): error is CancellationError
      case .type(let type): type == CancellationError.self
      }
    }
  }

  /// What a run is to the run that contains it.
  package enum Nesting: UInt8 {
    case none, chain, zip, race
  }

  package struct Entry: Sendable {
    /// The time since an origin that all entries on the same clock share.
    package let time: Duration
    /// The index of the step, or of the first step of a run or a part.
    package let step: Int32
    /// The count or number that the event has.
    package let number: Int32
    package let event: Event
  }

  private var entries: [Entry] = []
  private var oldest = 0
  private let capacity: Int
  private(set) var droppedCount = 0

  /// The number of entries for a run that is not traced explicitly.
  static let defaultCapacity = 1_024

  /// - Parameters:
  ///   - stepCount: The number of steps; a run in which nothing is repeated and nothing nested needs one allocation.
  ///   - capacity: The number of entries that are retained.
  init(stepCount: Int, capacity: Int) {
    self.capacity = capacity
    if capacity > 0 { entries.reserveCapacity(min(capacity, 2 * min(stepCount, capacity) + 2)) }
  }

  /// Returns the entry that was dropped, for release outside the lock.
  mutating func append(_ event: Event, step: Int, number: Int = 0, at time: Duration) -> Entry? {
    guard capacity > 0 else { return nil }
    let entry = Entry(
      time: time,
      step: Int32(clamping: step),
      number: Int32(clamping: number),
      event: event
    )
    guard entries.count == capacity else {
      entries.append(entry)
      return nil
    }
    defer { oldest = (oldest + 1) % capacity }
    droppedCount += 1
    return exchange(&entries[oldest], with: entry)
  }

  /// The entries, oldest first.
  var all: [Entry] { Array(entries[oldest...] + entries[..<oldest]) }

  private static let origin = ContinuousClock.now

  static func time(of instant: ContinuousClock.Instant) -> Duration { origin.duration(to: instant) }
}

/// Through what a run was cancelled, and why.
package final class CancellationCause: Sendable {
  package let source: String
  package let reason: String?

  init(source: String, reason: String?) {
    self.source = source
    self.reason = reason
  }
}
