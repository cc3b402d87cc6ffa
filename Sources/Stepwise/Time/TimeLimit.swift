// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error thrown when a step, or the steps that a timeout covers, exceed their time limit.
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
struct TimeLimit: Sendable {
  let duration: Duration
  let clock: any Clock<Duration>
  /// Waits for the end of a time that has already started.
  private var remainder: (@Sendable () async throws -> Void)?

  init(duration: Duration, clock: any Clock<Duration>) {
    self.duration = duration
    self.clock = clock
  }

  /// Returns the limit with a time that starts now instead of with the wait.
  func started() -> TimeLimit {
    var limit = self
    limit.remainder = Self.remainder(of: duration, on: clock)
    return limit
  }

  private static func remainder<C: Clock<Duration>>(
    of duration: Duration,
    on clock: C
  ) -> @Sendable () async throws -> Void {
    let end = clock.now.advanced(by: duration.clamped)
    return { try await clock.sleep(until: end, tolerance: nil) }
  }

  /// Waits for the end of the time.
  func sleep() async throws {
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
///
/// - Throws: The error of the operation; `TimeoutError` when its time was up.
func limited<Value: Sendable>(
  to limit: TimeLimit,
  step: @escaping @Sendable () -> String,
  operation: @escaping @Sendable () async throws -> Value
) async throws -> Value {
  // Separate tasks instead of a group, which would wait for a clock that ignores cancellation.
  let race = TimerRace()
  let (work, timer) = await withTaskCancellationHandler {
    let work = spawn { () async throws -> Value in
      defer { race.end() }
      try race.begin()
      return try await operation()
    }
    race.attach(work)
    let timer = spawn { () async throws -> Void in
      try await limit.sleep()
      guard race.expire() else { return }
      race.name(step())
      work.cancel()
    }
    _ = await work.result
    return (work, timer)
  } onCancel: {
    race.cancel()
  }
  timer.cancel()
  guard race.isLost, case .failure(let error) = await work.result else { return try await work.value }
  throw TimeoutError(step: race.step ?? step(), duration: limit.duration, underlyingError: error)
}

/// Which comes first: the end of an operation, or its timer.
private final class TimerRace: Sendable {
  private enum Verdict {
    case running, won
    /// The timer came first; then it looks which step is running.
    case lost(step: String?)
  }

  private struct State {
    var verdict = Verdict.running
    var isCancelled = false
    var work: (any CancellableTask)?
  }

  private let state = Lock(State())

  /// The operation is about to begin.
  ///
  /// - Throws: `CancellationError` when the waiting task has been cancelled, although its own task may not be yet.
  func begin() throws {
    if state.withLock({ $0.isCancelled }) { throw CancellationError() }
  }

  func attach(_ work: any CancellableTask) {
    let isLate = state.withLock { state in
      state.work = work
      return state.isCancelled
    }
    if isLate { work.cancel() }
  }

  func cancel() {
    let work = state.withLock { state in
      state.isCancelled = true
      return state.work
    }
    work?.cancel()
  }

  /// The operation has ended.
  func end() {
    let work = state.withLock { state in
      if case .running = state.verdict { state.verdict = .won }
      return state.work.take()
    }
    _ = work
  }

  /// The timer has fired; returns whether it came first.
  func expire() -> Bool {
    state.withLock { state in
      guard case .running = state.verdict else { return false }
      state.verdict = .lost(step: nil)
      return true
    }
  }

  func name(_ step: String) { state.withLock { $0.verdict = .lost(step: step) } }

  var isLost: Bool { state.withLock { if case .lost = $0.verdict { true } else { false } } }
  var step: String? { state.withLock { if case .lost(let step) = $0.verdict { step } else { nil } } }
}
