// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// An error thrown when a step, or the steps that a timeout covers, exceed their time limit.
///
/// Catch it to offer your user another attempt; ``step`` says what took too long.
public struct TimeoutError: Error, CustomStringConvertible {
  /// The running step: its name, or its position in the chain.
  public let step: String

  /// The time limit.
  public let duration: Duration

  /// The error that the cancelled step threw, unless it was a `CancellationError`.
  public let underlyingError: (any Error)?

  package init(step: String, duration: Duration, underlyingError: (any Error)? = nil) {
    self.step = step
    self.duration = duration
    self.underlyingError = underlyingError is CancellationError ? nil : underlyingError
  }

  /// The step, its time limit, and the error that it threw.
  public var description: String {
    let cause = underlyingError.map { ": \($0)" } ?? ""
    return "\(step) did not end within \(duration.spoken)\(cause)"
  }
}

extension Duration {
  /// The duration as error texts say it: "1 second", "0.2 seconds", where `description` is "1.0 seconds".
  package var spoken: String {
    if self == .seconds(1) { return "1 second" }
    // The components of a duration of more than `Int64.max` seconds trap.
    guard self == clamped else { return description }
    return components.attoseconds == 0 ? "\(components.seconds) seconds" : description
  }
}

/// How long something may take, by which clock.
package struct TimeLimit: Sendable {
  package let duration: Duration
  let clock: any Clock<Duration>
  /// Waits for the end of a time that has already started.
  private var remainder: (@concurrent @Sendable () async throws -> Void)?

  private init(
    duration: Duration,
    clock: any Clock<Duration>,
    remainder: (@concurrent @Sendable () async throws -> Void)?
  ) {
    (self.duration, self.clock, self.remainder) = (duration, clock, remainder)
  }

  /// Creates a limit; one whose end a journal stores has started.
  init(duration: Duration, clock: any Clock<Duration>, by journal: (any RunJournal)? = nil) {
    self.init(duration: duration, clock: clock, remainder: journal?.beginWait(for: duration, by: clock))
  }

  /// Calls work with a limit; between the steps of a run with a journal, part of the time may have passed in earlier runs.
  static func begin<Value>(
    _ duration: Duration,
    _ clock: any Clock<Duration>,
    in journal: (any RunJournal)?,
    as name: String,
    _ work: (TimeLimit) async throws -> Value
  ) async throws -> Value {
    guard let journal, !journal.isInStep else {
      return try await work(TimeLimit(duration: duration, clock: clock, by: journal))
    }
    return try await journal.inside(journal.open(name), branch: nil) {
      try await work(TimeLimit(duration: duration, clock: clock, by: journal))
    }
  }

  func started() -> TimeLimit { started(on: clock) }

  /// Until an instant: a clock may advance between the reading of a time and a sleep for what is left.
  private func started(on clock: some Clock<Duration>) -> TimeLimit {
    let end = clock.now.advanced(by: duration.clamped)
    return TimeLimit(duration: duration, clock: clock) { try await clock.sleep(until: end, tolerance: nil) }
  }

  @concurrent func sleep() async throws {
    if let remainder { try await remainder() } else { try await clock.sleep(for: duration.clamped) }
  }
}

/// Runs an operation, cancels it when its time is up, and waits until it ends.
///
/// A value that the operation returns wins, even against the timer. The timer claims its verdict before it cancels, so
/// that every error that the operation throws afterwards counts as this timeout, and no inner timeout is mistaken for
/// it.
///
/// An operation whose task is cancelled before it begins does not begin.
@concurrent
func limited<Value: Sendable>(
  to limit: TimeLimit,
  step: @escaping @Sendable () -> String,
  operation: @concurrent @escaping @Sendable () async throws -> Value
) async throws -> Value {
  // Separate tasks instead of a group, which would wait for a clock that ignores cancellation.
  let race = TimerRace()
  return try await withTaskCancellationHandler {
    let work = spawn { () async throws -> (result: Result<Value, any Error>, isInTime: Bool) in
      // The waiting task may have been cancelled, although this one is not yet.
      if race.isCancelled { return (.failure(CancellationError()), race.decide()) }
      return (await .of(operation), race.decide())
    }
    let timer = spawn { () async throws -> String in
      try await limit.sleep()
      guard race.decide() else { throw CancellationError() }
      let name = step()
      work.cancel()
      return name
    }
    let (end, isInTime) = try await withTaskCancellationHandler {
      try await work.value
    } onCancel: {
      work.cancel()
    }
    guard !isInTime, case .failure(let error) = end else {
      timer.cancel()
      return try end.get()
    }
    throw TimeoutError(step: try await timer.value, duration: limit.duration, underlyingError: error)
  } onCancel: {
    race.cancel()
  }
}

/// Which comes first: the end of an operation, or its timer.
private final class TimerRace: Sendable {
  private let cancelled = Atomic(false)
  private let decided = Atomic(false)

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func cancel() { cancelled.store(true, ordering: .releasing) }

  /// Returns whether this call decides the race.
  func decide() -> Bool { !decided.exchange(true, ordering: .acquiringAndReleasing) }
}
