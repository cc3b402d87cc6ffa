// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

// MARK: - Time

extension DurableRun {
  /// What is left of a wait or a limit, whose end is stored when it begins.
  func remaining(of duration: Duration, at key: String) -> Duration {
    let now = now
    let length = duration.clamped
    let end = state.withLock { state -> Int? in
      if let end = state.log.deadlines[key] { return end }
      enqueue(.deadline(key, now + Int(length / .milliseconds(1))), &state)
      return nil
    }
    guard let end else { return length }
    return min(length, max(.zero, .milliseconds(end - now)))
  }

  /// Begins a limit in the body of a step, which begins again with the body unless the run was suspended meanwhile.
  func beginLimit(
    of duration: Duration,
    by clock: any Clock<Duration>,
    in scope: String
  ) -> @concurrent @Sendable () async throws -> Void {
    let length = duration.clamped
    guard settings.host != nil else { return { try await clock.sleep(for: length) } }
    let now = now
    let (key, end) = state.withLock { state in
      let key = state.waits.nextLimit(in: scope)
      // Nothing cuts off a body that runs only to be undone.
      let stored = state.isRepeated(scope) ? nil : state.log.deadlines[key]
      let end = min(stored ?? .max, now + Int(length / .milliseconds(1)))
      state.waits.begin(limit: key, inBody: scope, end)
      return (key, end)
    }
    return { [self] in
      do {
        try await clock.sleep(for: min(length, max(.zero, .milliseconds(end - now))))
      } catch {
        endLimit(key, end, isOver: false)
        throw error
      }
      endLimit(key, end, isOver: true)
    }
  }

  /// A limit that is over stays so, and one that was kept begins again with the body.
  private func endLimit(_ key: String, _ end: Int, isOver: Bool) {
    state.withLock { state in
      state.waits.end(bodyLimit: key, isOver: isOver)
      guard !state.isStopped, state.log.phase == .running else { return }
      let deadline = isOver ? end : state.log.deadlines[key].map { _ in .max }
      if let deadline, state.log.deadlines[key] != deadline { enqueue(.deadline(key, deadline), &state) }
    }
  }

  func elapsed(_ time: Duration, of limit: Duration, after attempts: Int, at place: JournalKey) async -> Duration {
    // Of steps within the body of another one, nothing is stored.
    guard !position.isBody else { return time }
    guard attempts > 0 else {
      if let end = state.withLock({ $0.log.deadlines[place.path] }) {
        return max(.zero, limit.clamped - .milliseconds(end - now))
      }
      _ = remaining(of: limit, at: place.path)
      // The body of a step does not store it. An error stops the run.
      if place.isBody { try? await flush() }
      return .zero
    }
    guard !place.isBody else { return time }
    let key = DurableLog.scope(place.path, attempt: attempts, branch: nil)
    let stored = state.withLock { state -> Int in
      if let stored = state.log.elapsed[key] { return stored }
      let new = Int(time.clamped / .milliseconds(1))
      enqueue(.elapsed(key, new), &state)
      return new
    }
    return .milliseconds(stored)
  }

  nonisolated(nonsending) func sleep(_ duration: Duration, by clock: any Clock<Duration>, at step: String) async throws
  {
    let rest = remaining(of: duration, at: step)
    try await flush()
    guard rest > .zero else { return }
    let wait = DurableWait(end: now + Int(rest / .milliseconds(1)))
    // The host's clock is that of its store.
    let clock = clock is ContinuousClock ? settings.host?.clock ?? clock : clock
    try await waiting(wait, at: step) { try await clock.sleep(for: rest) }
  }
}

// MARK: - Waits

extension DurableRun {
  /// Stops the run after the steps in progress; at once while it only waits.
  func stopForHost() {
    let isStored = state.withLock { state in
      state.isStopRequested = true
      if state.waits.isParked { enqueueLimits(&state) }
      return state.queuedCount == state.storedCount
    }
    releaseAll()
    if isStored { return suspendIfParked() }
    _ = spawn(on: bodyExecutor) { [self] in
      try? await flush()
      suspendIfParked()
    }
  }

  private func suspendIfParked() { suspend { $0.isParked ? $0.suspending : nil } }

  /// Stops a run that only waits: its code is interrupted as by a cancellation, and it stores nothing from then on.
  private func suspend(_ waits: (DurableWaits) -> [DurableWait]?) {
    let (suspended, interrupt) = state.withLock { state -> ([DurableWait]?, (@Sendable (String?) -> Void)?) in
      guard state.stopError == nil, let waits = waits(state.waits) else { return (nil, nil) }
      (state.isSuspended, state.stopError) = (true, CancellationError())
      return (waits, state.interrupt)
    }
    guard let suspended else { return }
    settings.host?.suspend(suspended)
    interrupt?(DurableState.suspension)
    releaseAll()
  }

  /// Limits in the bodies of steps go on while the run is stored.
  private func enqueueLimits(_ state: inout DurableState) {
    for (key, end) in state.waits.limitsAroundWaits where state.log.deadlines[key] != end {
      enqueue(.deadline(key, end), &state)
    }
  }

  /// Waits; meanwhile the host may give the run's slot to another job.
  nonisolated(nonsending) func waiting<Value>(
    _ wait: DurableWait,
    at step: String,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    guard settings.host != nil else { return try await body() }
    let result = await withTaskCancellationHandler {
      await Result.of {
        // What is decided already waits for nothing.
        if state.withLock({ $0.waits.wait(wait, at: step, isCancelled: Task.isCancelled) }) { park() }
        try throwIfStopped()
        return try await body()
      }
    } onCancel: {
      state.withLock { $0.waits.cancel(step) }
    }
    if state.withLock({ $0.waits.resume(step) }) { await unpark() }
    return try result.get()
  }

  /// Runs the body of a step, for which a parked run takes its slot again.
  nonisolated(nonsending) func working<Value>(
    at step: String,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    guard settings.host != nil else { return try await body() }
    if state.withLock({ $0.waits.begin(step) }) { await unpark() }
    defer { if state.withLock({ $0.waits.end(step) }) { park() } }
    do {
      return try await body()
    } catch {
      // Another step may receive what this one has not consumed.
      state.withLock { _ = $0.waits.consume(in: step) }
      throw error
    }
  }

  private func park() {
    let waits = state.withLock { $0.waits.pending }
    guard let host = settings.host else { return }
    let isParked = host.park(waits)
    if isStopped { suspendIfParked() }
    guard !isParked else { return }
    state.withLock { $0.waits.refused() }
    executor?.notify()
  }

  /// Stops a run that only waits and that its host does not park; called when all of its code waits.
  func stopIfIdle() {
    let isStored = state.withLock { state -> Bool? in
      guard state.waits.stopping != nil, !state.isStopped else { return nil }
      enqueueLimits(&state)
      return state.queuedCount == state.storedCount
    }
    guard let isStored else { return }
    if isStored { return suspend(\.stopping) }
    // What has failed before is known, and need not be repeated.
    _ = spawn(on: bodyExecutor) { [self] in
      try? await flush()
      executor?.notify()
    }
  }

  /// Undoes a step: a run is not stopped for a wait beside it.
  nonisolated(nonsending) func undoing<Value>(
    _ key: String,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    try await working(at: key) {
      // While it waits itself, so does what the code waits for. The code has not received the end of a step that is undone
      // at once.
      let outer = position.scope
      let (isCalled, isOuter) = state.withLock { ($0.waits.called(key), $0.waits.delivered(outer)) }
      defer {
        state.withLock { state in
          if isCalled { _ = state.waits.delivered(key) }
          if isOuter { _ = state.waits.called(outer) }
        }
      }
      let position = DurablePosition(self, scope: key, step: key, isUndo: true)
      return try await RunCode.$current.bind(nil) { try await DurablePosition.$current.bind(position, body) }
    }
  }

  private func unpark() async {
    await settings.host?.unpark()
    state.withLock { $0.waits.unparked() }
  }

  /// Reads something of the host, of which a failure stops the run.
  nonisolated(nonsending) func fromHost<Value>(
    _ read: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    do {
      return try await read()
    } catch let failure as HostFailure {
      throw stop(throwing: failure.error)
    }
  }

  /// Waits for the first of several signals; returns nil when none can be received.
  nonisolated(nonsending) func receive<Value: Sendable>(
    _ cases: [SignalCase<Value>],
    as name: String,
    timeout: Duration?,
    at step: String
  ) async throws -> Value? {
    guard let host = settings.host else { return nil }
    let rest = timeout.map { remaining(of: $0, at: step) }
    try await flush()
    if let value = try await take(cases, from: host, at: step) { return value }
    let timedOut = TimeoutError(step: name, duration: timeout ?? .zero)
    if let rest, rest <= .zero { throw timedOut }
    let wait = DurableWait(end: rest.map { now + Int($0 / .milliseconds(1)) }, signals: cases.map(\.name))
    for (index, signal) in cases.enumerated() { host.expect(signal.name, at: "\(step)[\(index)", signal.expectation) }
    defer { for (index, signal) in cases.enumerated() { host.expect(signal.name, at: "\(step)[\(index)", nil) } }
    return try await waiting(wait, at: step) {
      let value = try await DurableSignals.take(within: rest, by: host.clock, host.news()) {
        try await take(cases, from: host, at: step)
      }
      guard let value else { throw timedOut }
      return value
    }
  }

  /// Returns the oldest signal that no step has received; skips those that are not of the type.
  private func take<Value>(
    _ cases: [SignalCase<Value>],
    from host: any DurableHost,
    at step: String
  ) async throws -> Value? {
    var hasSkipped = true
    while hasSkipped {
      hasSkipped = false
      let limit = state.withLock { $0.waits.count(at: step) }
      for (number, name, bytes) in try await fromHost({ try await host.signals(cases.map(\.name), limit: limit) })
      where !state.withLock({ $0.waits.isSkipped(number, at: step) }) {
        do {
          let value = try DurableSignals.value(of: name, bytes, cases)
          if state.withLock({ $0.waits.receive(number, at: step) }) { return value }
        } catch {
          state.withLock { $0.waits.skip(number, at: step) }
          hasSkipped = true
          await host.refuse(number, of: name, error)
        }
      }
    }
    return nil
  }
}

/// The signals of the run that the running code is a step of.
package enum DurableSignals {
  /// Waits for a signal; returns nil outside of a step of a run with a host.
  package nonisolated(nonsending) static func receive<Value: Sendable>(
    _ cases: [SignalCase<Value>],
    as name: String,
    timeout: Duration?
  ) async throws -> Value? {
    guard let position = DurablePosition.current, position.run.isCurrent, let step = position.step else { return nil }
    return try await position.run.receive(cases, as: name, timeout: timeout, at: step)
  }

  /// Reads a signal as the first of the cases of its name that can read it.
  ///
  /// - Throws: The error of the last one that cannot.
  package static func value<Value>(of name: String, _ bytes: [UInt8], _ cases: [SignalCase<Value>]) throws -> Value {
    var failure: any Error = DataError(reason: "no step waits for it")
    for signal in cases where signal.name == name {
      do { return try signal.decode(bytes) } catch { failure = error }
    }
    throw failure
  }

  /// Takes something when there is news, and after a time; returns nil when there is nothing by then.
  package nonisolated(nonsending) static func take<Value>(
    within limit: Duration?,
    by clock: any Clock<Duration>,
    _ news: @Sendable (_ limit: Duration) async -> Void,
    _ take: nonisolated(nonsending) () async throws -> Value?
  ) async throws -> Value? {
    let elapsed = stopwatch(on: clock)
    while true {
      // Once more at the end: a signal that was sent in time is not missed.
      if let value = try await take() { return value }
      let rest = limit.map { $0 - elapsed() } ?? .seconds(3_600)
      if rest <= .zero { return nil }
      await news(min(rest, .seconds(3_600)))
      try Task.checkCancellation()
    }
  }
}
