// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

// MARK: - Undos

extension DurableRun {
  nonisolated(nonsending) func undo(
    _ steps: ArraySlice<Int>,
    _ body: nonisolated(nonsending) @Sendable () async throws -> Void
  ) async throws -> Bool {
    guard let step = steps.first, !settings.isCheck else { return false }
    let (key, isLate) = state.withLock { state -> (String?, Bool) in
      guard !state.isStopped else { return (nil, false) }
      if let key = state.late[step] { return (key, true) }
      let log = state.log
      // A further process undoes it, and stores that.
      guard !state.hasEnded || log.isEnded else { return (nil, false) }
      let new = log.undoing.contains(step) ? [] : steps.filter { !log.isUndone($0) && !log.undoing.contains($0) }
      if !new.isEmpty { enqueue(.undoing(new), &state) }
      return (log.isUndone(step) ? nil : log.keys[step], false)
    }
    guard let key else { return false }
    guard !isLate else {
      try await undoing(key, body)
      return true
    }
    defer { state.withLock { _ = $0.undosTried.insert(step) } }
    // With the failures so far. An error stops the run, and then nothing is undone.
    try? await flush()
    guard !isStopped else { return false }
    try checkLease()
    let result = await Result.of { try await undoing(key, body) }
    state.withLock { state in
      switch result {
      case .success: enqueue(.undone(step), &state)
      case .failure(let error) where settings.host == nil:
        let failure = StoredFailure(error, of: DurableLog.name(key))
        // The same one is stored once, however often the run is resumed.
        if state.log.records[key]?.undoFailure != failure { enqueue(.undoFailed(step, failure), &state) }
      // A host stores the error of an attempt itself, and takes each entry for progress.
      case .failure: break
      }
    }
    try? await flush()
    try result.get()
    return true
  }

  func dropUndos(of steps: [Int]) {
    state.withLock { state in
      guard !state.isStopped else { return }
      for step in steps where !state.log.isUndone(step) { enqueue(.undone(step), &state) }
    }
    executor?.notify()
  }
}

// MARK: - Outcome

extension DurableRun {
  func conclude(_ outcome: Outcome<any Sendable>, keeping steps: [Int]) async -> Outcome<(any Sendable)?> {
    do {
      return try await concludeOrStop(outcome, keeping: steps)
    } catch {
      let error = stop(throwing: error)
      if state.withLock({ $0.isSuspended }) {
        let stopped = CheckpointError.stopped(id: id, location: location)
        return .cancelled(Cancellation(reason: DurableState.suspension, underlyingError: stopped))
      }
      // The step that awaits this run has not failed: it is performed again when the outer run is resumed.
      settings.outer?.stop(throwing: error)
      return .failed(error)
    }
  }

  private func concludeOrStop(
    _ outcome: Outcome<any Sendable>,
    keeping steps: [Int]
  ) async throws -> Outcome<(any Sendable)?> {
    let missing = await waitForReplay()
    var (hasBegun, isStopped, isDecidedBefore, stopError) = state.withLock { state in
      (state.hasBegun, state.isStopped, state.isDecidedBefore, state.stopError)
    }
    if let stopError { throw stopError }
    guard hasBegun else {
      // It was cancelled before it was admitted, or before it had its id.
      stop()
      return outcome.map { _ in nil }
    }
    if case .cancelled = outcome, state.withLock({ $0.cancellation == nil }), !isDecidedBefore {
      stop()
      isStopped = true
    }
    if isStopped {
      guard case .resolved = outcome, state.withLock({ $0.poisoned.isEmpty }) else {
        // What has failed before is known, and need not be repeated.
        try await flush()
        let error = CheckpointError.stopped(id: id, location: location)
        let reason: String? = if case .cancelled(let cancellation) = outcome { cancellation.reason } else { nil }
        return .cancelled(Cancellation(reason: reason, underlyingError: error))
      }
    }
    if let missing { throw different(stored: missing, code: nil) }
    if isDecidedBefore { return try await concludeAsStored() }
    while true {
      let cancellation = state.withLock { $0.cancellation }
      let conclusion = try conclusion(of: outcome, cancelledBy: cancellation)
      if case (.failed, .failed(let error)) = (conclusion, outcome), settings.host?.holdsFailures == true {
        try await flush()
        throw HeldFailure(error: error)
      }
      let isDecided = state.withLock { state in
        // It may have been cancelled while its output was encoded.
        guard (state.cancellation == nil) == (cancellation == nil) else { return false }
        let kept = if case .resolved = conclusion { Set(steps) } else { Set<Int>() }
        let undone = state.log.outstanding.filter { !kept.contains($0) }
        if !undone.isEmpty { enqueue(.undoing(undone), &state) }
        enqueue(.concluded(conclusion), &state)
        return true
      }
      guard isDecided else { continue }
      try await flush()
      if case .resolved = conclusion { return .resolved(nil) }
      return try self.outcome(of: conclusion).map { $0 }
    }
  }

  private func conclusion(
    of outcome: Outcome<any Sendable>,
    cancelledBy request: Cancellation?
  ) throws -> StoredOutcome {
    func failure(_ error: any Error) -> StoredFailure { StoredFailure(error, of: settings.name) }
    switch (outcome, request) {
    case (.cancelled(let cancellation), _):
      return .cancelled(reason: cancellation.reason, underlying: cancellation.underlyingError.map(failure))
    case (.failed(let error), let request?) where !(error is CancellationError):
      return .cancelled(reason: request.reason, underlying: failure(error))
    // The request is stored, and says what a further process does.
    case (_, let request?): return .cancelled(reason: request.reason, underlying: nil)
    case (.failed(let error), nil): return .failed(failure(error))
    case (.resolved(let value), nil):
      do {
        let bytes = try outputs.encode(value)
        try checkCodec(bytes)
        return .resolved(bytes)
      } catch {
        throw unstorable("its output", StoredReason.text(error))
      }
    }
  }

  /// The outcome that an earlier run decided, whatever the code ends with now.
  private func concludeAsStored() async throws -> Outcome<(any Sendable)?> {
    let isNew = state.withLock { state in
      guard case .cancelling(let reason) = state.log.phase else { return false }
      enqueue(.undoing(state.log.outstanding), &state)
      enqueue(.concluded(.cancelled(reason: reason, underlying: nil)), &state)
      return true
    }
    if isNew { try await flush() }
    return try outcome(of: state.withLock { $0.log.outcome }).map { $0 }
  }

  func finish() async -> Bool {
    // Without an executor it has not begun.
    guard !settings.isCheck, let executor else { return false }
    repeat {
      await waitForUndos(on: executor)
      try? await flush()
    } while !endStoring()
    let final = state.withLock { state -> (DurableStart, StoredOutcome, UInt64, CheckpointLease)? in
      guard !state.isStopped, state.log.isEnded, case .concluded(let outcome) = state.log.phase,
        let start = state.start, let lease = state.holder?.lease
      else { return nil }
      return (start, outcome, state.recordVersion, lease)
    }
    guard let (start, outcome, version, lease) = final else { return false }
    // What follows frees space only: the outcome is stored.
    let record = record(start, version: version &+ 1, [.concluded(outcome)])
    try? await store.save(record, ifVersionIs: version, under: lease)
    return true
  }

  /// From now on nothing is stored, unless something was to be undone or stored meanwhile; returns whether it is so.
  private func endStoring() -> Bool {
    state.withLock { state in
      guard state.undoing == 0 else { return false }
      guard !state.isStopped else { return true }
      state.hasEnded = state.queuedCount == state.storedCount && !state.isWriting
      return state.hasEnded
    }
  }

  /// Waits for the undos of abandoned work that are in progress, or that its code is on its way to.
  private func waitForUndos(on executor: DurableExecutor) async {
    let ending = Once<Void>()
    state.withLock { $0.ending = ending }
    executor.notify()
    await ending.valueIgnoringCancellation()
  }
}
