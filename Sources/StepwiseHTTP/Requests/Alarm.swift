// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Dispatch
import Stepwise

/// Wakes exchanges at their deadlines, with one timer for all of them.
///
/// A sleeping task for each exchange would stay in the runtime's queue until its deadline, long after its request has
/// ended.
final class Alarm: Sendable {
  typealias Instant = ContinuousClock.Instant

  static let shared = Alarm()

  private struct Entry {
    weak let exchange: Exchange?
    let wake: Instant
  }

  private struct State {
    var entries: [ObjectIdentifier: Entry] = [:]
    /// When the timer fires next.
    var next: Instant?

    /// Returns when the timer has to be set to, if it has to be changed.
    mutating func set(to wake: Instant?) -> Instant? {
      guard let wake, next.map({ wake < $0 }) ?? true else { return nil }
      next = wake
      return wake
    }
  }

  private let queue = DispatchQueue(label: "StepwiseHTTP.Alarm")
  private let state = Lock(State())

  /// Wakes an exchange after a time, unless it is removed before.
  func add(_ exchange: Exchange, after duration: Duration) {
    let wake = ContinuousClock.now.advanced(by: duration)
    let timer = state.withLock { state in
      state.entries[ObjectIdentifier(exchange)] = Entry(exchange: exchange, wake: wake)
      return state.set(to: wake)
    }
    if let timer { schedule(timer) }
  }

  func remove(_ exchange: Exchange) {
    _ = state.withLock { $0.entries.removeValue(forKey: ObjectIdentifier(exchange)) }
  }

  private func schedule(_ wake: Instant) {
    let (seconds, attoseconds) = max(.zero, ContinuousClock.now.duration(to: wake)).components
    let nanoseconds = Int(clamping: min(seconds, 1_000_000_000)) * 1_000_000_000 + Int(attoseconds / 1_000_000_000)
    queue.asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { self.ring() }
  }

  private func ring() {
    let now = ContinuousClock.now
    let (due, timer) = state.withLock { state in
      if let next = state.next, next <= now { state.next = nil }
      let due = state.entries.filter { $0.value.wake <= now }
      for id in due.keys { state.entries[id] = nil }
      return (due.values.compactMap(\.exchange), state.set(to: state.entries.values.map(\.wake).min()))
    }
    if let timer { schedule(timer) }
    for exchange in due { exchange.checkDeadlines() }
  }
}

/// Measures time from one instant of any clock.
struct Stopwatch: Sendable {
  /// Returns the elapsed time.
  let elapsed: @Sendable () -> Duration
  /// Sleeps until the given time has elapsed since the start.
  let sleep: @Sendable (_ until: Duration) async throws -> Void

  init(_ clock: some Clock<Duration>) {
    let start = clock.now
    elapsed = { start.duration(to: clock.now) }
    sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
  }
}
