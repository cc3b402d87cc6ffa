// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

// MARK: - The order of replayed steps

extension DurableRun {
  /// How long a replay waits for what the code does not call, and what is called when it has waited in vain.
  // Tests that wait for nothing choose another time, which no busy machine reaches, and count.
  struct Patience: Sendable {
    @TaskLocal static var current = Patience(duration: .seconds(10))

    let duration: Duration
    var onEnd: @Sendable () -> Void = {}
  }

  /// Waits until the steps that completed before have been returned; all of them when nil.
  @concurrent func waitForTurn(of number: Int?, at key: String) async {
    await wait(for: DurableState.Turn(number: number, key: key, isInner: position.isBody))
  }

  /// Waits until everything stored has been returned, and the code waits: only then is it known that it has not changed.
  @concurrent func waitForReplay(at key: String) async throws {
    // Steps inside it are stored as well.
    guard state.withLock({ $0.log.isReplaying && !$0.log.hasRecords(in: key) }) else { return }
    await wait(for: DurableState.Turn(number: nil, key: key, isInner: false, isNew: true))
    try throwIfStopped()
  }

  @concurrent func replayed(beforeAttemptAt place: JournalKey) async {
    guard state.withLock({ $0.log.isReplaying }) else { return }
    let turn = DurableState.Turn(number: nil, key: place.path, isInner: false, isNew: true)
    await withTaskCancellationHandler {
      await wait(for: turn)
    } onCancel: {
      state.withLock { $0.cancel(turn) }
      turn.once.settle(())
    }
  }

  func undone(_ step: Int) async {
    guard let (number, key) = state.withLock({ $0.undoneFirst.removeValue(forKey: step) }) else { return }
    await waitForTurn(of: number, at: key)
    endTurn(of: number, key)
  }

  private nonisolated(nonsending) func wait(for turn: DurableState.Turn) async {
    let isDue = proceeding { state in
      if turn.isInner, state.isDue(turn) { return true }
      state.wait(for: turn)
      return false
    }
    guard !isDue else { return }
    guard turn.isInner else { return await turn.once.valueIgnoringCancellation() }
    let timer = spawn {
      while turn.once.settled == nil, (try? await Task.sleep(for: self.patience.duration)) != nil {
        // What completed before does not come any more.
        self.patience.onEnd()
        self.proceeding { $0.log.skip(before: turn.number) }
      }
    }
    await turn.once.valueIgnoringCancellation()
    timer.cancel()
  }

  /// Gives the code between steps its next turn; returns false when there is none.
  func deliver() -> Bool {
    let (next, count) = state.withLock { state -> (Once<Void>?, Int?) in
      if let next = state.takeNext() { return (next, nil) }
      // What waits for a body that runs does not wait in vain.
      guard !state.isWaitingForCode, state.log.repeating.isEmpty, state.isWaitedFor else {
        return (nil, nil)
      }
      state.isWaitingForCode = true
      return (nil, state.turnCount)
    }
    next?.settle(())
    if let count { waitForCode(after: count) }
    if next == nil { stopIfIdle() }
    return next != nil
  }

  /// All code between steps waits, and none calls the step that is to be returned next.
  private func waitForCode(after count: Int) {
    _ = spawn { [weak self, patience] in
      try? await Task.sleep(for: patience.duration)
      guard let self else { return }
      let difference = proceeding { state -> CheckpointError? in
        state.isWaitingForCode = false
        guard state.turnCount == count, state.log.repeating.isEmpty else { return nil }
        patience.onEnd()
        let turns = state.turnsOnExecutor
        // Only new steps wait, one of them where the stored one belongs: the code has changed.
        if turns.allSatisfy(\.isNew), let stored = state.log.unreplayed, let new = state.stepInstead(of: stored) {
          return different(stored: stored, code: new)
        }
        // What completed before does not come any more.
        let numbers = turns.map { $0.number ?? .max }
        state.log.skip(before: numbers.min().flatMap { $0 == .max ? nil : $0 })
        return nil
      }
      if let difference { stop(throwing: difference) }
    }
  }

  /// A step is returned, and the next completed one follows.
  func endTurn(of number: Int, _ key: String) {
    let due = state.withLock { state in
      state.didReturn(number, key)
      return state.takeDue()
    }
    executor?.notify()
    guard !due.isEmpty else { return }
    // Code that receives the values of child tasks sees the order in which the tasks end, which takes a moment.
    _ = spawn {
      for _ in 0..<8 { await Task.yield() }
      for turn in due { turn.settle(()) }
    }
  }

  func replayed(in place: JournalKey) async {
    await wait(for: DurableState.Turn(number: nil, key: place.path, isPlace: true, isInner: position.isBody))
  }
}

// MARK: - Places

extension DurableRun {
  func open(_ name: String) -> JournalKey {
    let key = position.open(name)
    return JournalKey(key, attempts: state.withLock { $0.log.attempts[key, default: 0] })
  }

  nonisolated(nonsending) func inside<Value>(
    _ place: JournalKey?,
    branch: Int?,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    let outer = position
    if outer.isBody || place?.isBody ?? false {
      // What is inside of a step has keys, and is not stored.
      let scope = DurableLog.scope(place?.path ?? outer.scope, attempt: 1, branch: branch)
      let position = DurablePosition(self, scope: scope, step: scope, isBody: true)
      return try await DurablePosition.$current.bind(position, body)
    }
    let scope: String
    if let place {
      let attempt = branch == nil ? place.beginAttempt() : 1
      scope = DurableLog.scope(place.path, attempt: attempt, branch: branch)
      if attempt > 1 { endAttempt(attempt - 1, at: place.path) }
    } else {
      scope = DurableLog.scope(outer.scope, attempt: 1, branch: branch)
    }
    let thread = outer.thread(inside: place?.path, scope: scope, branch: branch)
    let position = DurablePosition(self, scope: scope, step: nil, thread: thread)
    state.withLock { $0.open[scope, default: 0] += 1 }
    let result = await Result.of { try await DurablePosition.$current.bind(position, body) }
    state.withLock { $0.open[scope] = $0.open[scope].flatMap { $0 > 1 ? $0 - 1 : nil } }
    if place != nil, let failure = state.withLock({ $0.log.failedAttempts[scope] }), !isStopped {
      throw failure.error(of: scope)
    }
    if let missing = state.withLock({ $0.unreached(in: scope) }) {
      throw stop(throwing: different(stored: missing, code: nil))
    }
    proceeding { $0.log.leave(DurableLog.key(of: scope), branch: scope) }
    return try result.get()
  }

  func attemptFailed(_ place: JournalKey, _ error: any Error) {
    let scope = DurableLog.scope(place.path, attempt: place.attemptCount, branch: nil)
    let failure = StoredFailure(error, of: place.path)
    state.withLock { state in
      guard !state.isStopped, state.log.hasOutstanding(in: place.path),
        state.log.failedAttempts[scope] == nil
      else { return }
      enqueue(.attemptFailed(scope, failure), &state)
    }
  }

  /// Another attempt begins; what the last one stored is dropped, unless something there is still to be undone.
  private func endAttempt(_ attempt: Int, at key: String) {
    state.withLock { state in
      // In a replay, an earlier process has ended it, and the records are those of later attempts.
      guard !state.isStopped, state.log.attempts[key, default: 0] < attempt, state.log.hasRecords(in: key),
        !state.log.hasOutstanding(in: key), !state.log.isUnwinding || state.log.isRepeated(key)
      else { return }
      enqueue(.attemptEnded(key, attempt: attempt), &state)
    }
  }

  nonisolated(nonsending) func group<Value>(
    _ place: JournalKey,
    branch: Int?,
    limit: Duration?,
    _ body: nonisolated(nonsending) (Duration?) async throws -> Value
  ) async throws -> Value {
    let key = DurableLog.scope(place.path, attempt: 1, branch: branch)
    if limit != nil, let thread = position.ownThread,
      let stored = state.withLock({ $0.log.difference(enteringLimit: key, at: place.path, in: thread) })
    {
      throw stop(throwing: different(stored: stored, code: place.path))
    }
    let (record, hasOutstanding, isInTime) = proceeding { state in
      let hasOutstanding = state.log.hasOutstanding(in: place.path, branch: key)
      let record = state.log.records[key]
      if record != nil, !hasOutstanding { state.log.leave(place.path, branch: key) }
      return (record, hasOutstanding, state.log.decisions[place.path] != nil)
    }
    var stored: (any Error)?
    if let record, case .failure(let failure) = record.end {
      let error = failure.error(of: place.path)
      if !hasOutstanding {
        await waitForTurn(of: record.number, at: key)
        endTurn(of: record.number, key)
        throw error
      }
      stored = error
    }
    // What has failed ends when everything in it has been replayed.
    let rest = limit.flatMap { isInTime ? nil : stored == nil ? remaining(of: $0, at: key) : .zero }
    if rest == .zero { state.withLock { _ = $0.expired.insert(key) } }
    do {
      let value = try await inside(place, branch: branch) { try await body(rest) }
      if let stored { throw stored }
      if rest != nil { store(decision: 0, at: place) }
      return value
    } catch {
      try throwIfStopped()
      if let stored, let record {
        endTurn(of: record.number, key)
        throw stored
      }
      if state.withLock({ $0.log.isUnwinding }) { throw error }
      throw await fail(error, DurableCall(name: place.path, key: key, thread: nil, isUndoable: false, why: .new))
    }
  }

  func decision(at place: JournalKey) -> Int? { state.withLock { $0.log.decisions[place.path] } }

  func store(decision: Int, at place: JournalKey) {
    state.withLock { state in
      guard state.log.decisions[place.path] == nil, !state.log.isUnwinding, !state.isStopped else { return }
      enqueue(.decided(place.path, branch: decision), &state)
    }
  }

  func continues(after attempt: Int, at place: JournalKey) -> Bool? {
    state.withLock { $0.log.continues(after: attempt, at: place.path) }
  }

  func isStored(_ name: String) -> Bool {
    let key = position.next(name)
    return state.withLock { $0.log.records[key] != nil }
  }
}
