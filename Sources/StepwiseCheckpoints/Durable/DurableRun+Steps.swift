// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

// MARK: - Steps

extension DurableRun {
  var isInStep: Bool { position.isBody }

  /// Returns the key of a step within the body of another one, whose work is not stored.
  private func openInBody(_ step: JournalStep, in run: JournalRun) throws -> JournalKey {
    let position = position
    guard !step.isUndoable else {
      let outer = position.step.map(DurableLog.name) ?? ""
      throw stop(throwing: CheckpointError.undoInStep(id: id, location: location, step: step.name, outer: outer))
    }
    try throwIfStopped()
    // A body that is repeated to be undone does its work.
    let isRepeated = state.withLock { $0.isRepeated(position.scope) }
    guard isRepeated || !run.isCancellationRequested() else { throw CancellationError() }
    return JournalKey(position.open(step.name), isBody: true)
  }

  nonisolated(nonsending) func step<Value>(
    _ step: JournalStep,
    in run: JournalRun,
    undoUnstored: nonisolated(nonsending) (Value) async -> Bool,
    _ body: nonisolated(nonsending) (JournalKey) async throws -> Value
  ) async throws -> JournalEnd<Value> {
    do {
      return try await called(step, in: run, undoUnstored: undoUnstored, body)
    } catch {
      if CaughtStop.report != nil, isStop(error) { position.noteStop(at: step.name) }
      throw error
    }
  }

  /// Whether an error says that the run stops; one that a step throws of itself is of another type.
  private func isStop(_ error: any Error) -> Bool {
    guard let stop = state.withLock({ $0.stopError }) else { return false }
    return error is CancellationError || type(of: error) == type(of: stop)
  }

  private nonisolated(nonsending) func called<Value>(
    _ step: JournalStep,
    in run: JournalRun,
    undoUnstored: nonisolated(nonsending) (Value) async -> Bool,
    _ body: nonisolated(nonsending) (JournalKey) async throws -> Value
  ) async throws -> JournalEnd<Value> {
    if isInStep {
      return JournalEnd(value: try await body(try openInBody(step, in: run)), number: nil, isReplayed: false)
    }
    noteCancellation()
    try throwIfStopped()
    guard !isOffExecutor else {
      throw stop(throwing: CheckpointError.stepOutside(id: id, location: location, step: step.name))
    }
    guard let values = DurableValues<Value>(of: step.name) else {
      throw stop(throwing: unstorable(step.name, DurableValues<Value>.refusal(of: Value.self)))
    }
    let call: DurableCall
    switch try await enter(step, run) {
    case .stored(let key, let record): return try replay(record, step, key, values)
    case .refused(let key):
      await waitForTurn(of: key)
      throw CancellationError()
    case .perform(let entered): call = entered
    }
    state.withLock { _ = $0.waits.called(call.key) }
    defer { state.withLock { _ = $0.waits.delivered(call.key) } }
    let place = JournalKey(call.key, isBody: true)
    let ending = try await onBodyExecutor {
      await performed(call, values, undoUnstored) {
        do {
          return try await body(place)
        } catch {
          noteCancellation()
          throw error
        }
      }
    }
    switch ending {
    case .stored(let result):
      await waitForTurn(of: call.key)
      return try result.get()
    case .repeated(let error):
      unblock()
      throw error
    case .unstored(let result): return try result.get()
    }
  }

  /// What the call of a step does.
  private enum Entry: Sendable {
    case stored(key: String, DurableLog.Record)
    case perform(DurableCall)
    /// The code there is cancelled, so the step does not begin, which is stored.
    case refused(key: String)
  }

  /// Calls a step, in the order of the code between steps.
  @concurrent private func enter(_ step: JournalStep, _ run: JournalRun) async throws -> Entry {
    let isCancelled = run.isCancellationRequested()
    if isCancelled { await returnToExecutor() } else { await waitToCall() }
    try throwIfStopped()
    let (key, permit, isOwned) = (position.open(step.name), Once<Void>(), position.isOwned)
    let task = executor?.task ?? 0
    let answer = try state.withLock { state throws in
      if isCancelled, state.log.records[key] == nil, !state.log.begun.contains(key) { throw CancellationError() }
      return state.order.call(key, by: task, permit, step: isOwned)
    }
    var call = DurableCall(name: step.name, key: key, task: task, isUndoable: step.isUndoable)
    if answer == .stored {
      await waitForTurn(of: key)
      try throwIfStopped()
      let (record, isInDoubt) = state.withLock { ($0.log.records[key], $0.log.begun.contains(key)) }
      guard let record else { throw CancellationError() }
      guard isInDoubt, !settings.isCheck, case .failure(let failure) = record.end else {
        return .stored(key: key, record)
      }
      call.failure = failure.error(of: step.name)
      // It is performed where its end was.
      return .perform(try repeating(call, isBlocking: true))
    }
    if answer == .later {
      await wait(for: permit)
      try throwIfStopped()
    }
    if settings.isCheck { throw stop(throwing: DurableCheckEnd()) }
    let (isInDoubt, isUnwinding) = state.withLock { ($0.log.begun.contains(key), $0.log.isUnwinding) }
    guard isUnwinding || run.isCancellationRequested() else {
      call.isAgain = isInDoubt
      executor?.depart()
      return .perform(call)
    }
    if isInDoubt, isUnwinding || !run.isAbandoned() {
      call.failure = CancellationError()
      return .perform(try repeating(call, isBlocking: false))
    }
    return try state.withLock { state throws in
      // What abandoned work calls after the end of the code is no part of the order.
      guard isInDoubt || !state.hasCodeEnded && !state.log.isConcluded else {
        state.order.leave(key)
        throw CancellationError()
      }
      let failure = StoredFailure(CancellationError(), of: step.name)
      enqueue(.failed(key, by: call.caller(state), number: state.nextNumber(), failure), &state)
      // Abandoned work is not awaited: a further process performs the step where its end was.
      if isInDoubt { enqueue(.began(key, by: call.caller(state)), &state) }
      state.order.end(key)
      return .refused(key: key)
    }
  }

  /// A step in doubt is performed to be undone.
  private func repeating(_ call: DurableCall, isBlocking: Bool) throws -> DurableCall {
    guard call.isUndoable else { throw stop(throwing: different(stored: "\(call.key), with undo", code: call.key)) }
    state.withLock { state in
      state.repeating.insert(call.key)
      if isBlocking { state.order.isBlocked = true }
    }
    executor?.depart()
    return call
  }

  /// Whether the calling code is neither the body of a step nor on the executor of the run; false where the runtime does
  /// not expose the executor that a task prefers.
  private var isOffExecutor: Bool {
    guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else { return false }
    return !position.isBody && executor.map { currentExecutor !== $0 } ?? false
  }

  private func replay<Value>(
    _ record: DurableLog.Record,
    _ step: JournalStep,
    _ key: String,
    _ values: DurableValues<Value>
  ) throws -> JournalEnd<Value> {
    switch record.end {
    case .failure(let failure): throw failure.error(of: step.name)
    case .success(let bytes):
      let isOutstanding = state.withLock { state in
        // An undo that was added to the code applies to what it would have undone.
        if step.isUndoable, !record.isUndoable, state.log.keys[record.number] == key {
          enqueue(.undoable(record.number), &state)
        }
        return !state.log.isUndone(record.number)
      }
      if isOutstanding, !step.isUndoable {
        throw stop(throwing: different(stored: "\(key), with undo", code: key))
      }
      let value: Value
      do { value = try values.decode(bytes) } catch { throw stop(throwing: unknown("step \(key)", error)) }
      state.withLock { $0.log.forgetValue(of: key) }
      // Also of one that was undone: its code waits for that again.
      return JournalEnd(value: value, number: step.isUndoable ? record.number : nil, isReplayed: true)
    }
  }
}

// MARK: - Performing

extension DurableRun {
  private nonisolated(nonsending) func performed<Value>(
    _ call: DurableCall,
    _ values: DurableValues<Value>,
    _ undoUnstored: nonisolated(nonsending) (Value) async -> Bool,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async -> DurableEnding<Value> {
    let key = call.key
    state.withLock { state in
      if call.isUndoable, !state.log.begun.contains(key) { enqueue(.began(key, by: call.caller(state)), &state) }
    }
    let value: Value
    do {
      // With the failures before it.
      try await flush()
      try checkLease()
    } catch {
      return .unstored(.failure(error))
    }
    do {
      value = try await working(at: key) {
        if call.failure == nil { try await body() } else { try await Scope.repeating(body) }
      }
    } catch {
      return failed(error, call)
    }
    // Code that swallows the error of a stop has not done its work.
    let poison = state.withLock { state in state.isPoisoned(key) ? state.stopError ?? CancellationError() : nil }
    if let poison { return .unstored(.failure(poison)) }
    if let failure = call.failure { return await failed(failure, call) { await undoUnstored(value) } }
    let stored: (bytes: [UInt8], copy: Value)
    do {
      stored = try values.stored(value)
      guard stored.bytes.count <= settings.maxValueSize else {
        throw DataError(reason: "it has \(stored.bytes.count) bytes; the limit is \(settings.maxValueSize)")
      }
      try checkCodec(stored.bytes)
    } catch {
      let error = unstorable(call.name, StoredReason.text(error))
      guard call.isUndoable else { return failed(error, call) }
      return await failed(error, call) { await undoUnstored(value) }
    }
    let (number, isLate) = state.withLock { state in
      let number = state.nextNumber()
      // Abandoned work whose run has ended.
      if call.isUndoable, state.hasEnded, !state.isStopped {
        state.late[number] = key
        return (number, true)
      }
      enqueue(
        .completed(
          key,
          by: call.caller(state),
          number: number,
          value: stored.bytes,
          isUndoable: call.isUndoable
        ),
        &state
      )
      state.log.forgetValue(of: key)
      for signal in state.waits.consume(in: key) { enqueue(.received(signal), &state) }
      state.order.end(key)
      return (number, false)
    }
    if isLate { return .unstored(.success(JournalEnd(value: value, number: number, isReplayed: false))) }
    do {
      try await flush()
    } catch {
      return .unstored(.failure(error))
    }
    let end = JournalEnd(value: stored.copy, number: call.isUndoable ? number : nil, isReplayed: false)
    return .stored(.success(end))
  }

  /// A step has failed with a value that is not stored, with which it is undone; after a crash, it is repeated first.
  private nonisolated(nonsending) func failed<Value>(
    _ error: any Error,
    _ call: DurableCall,
    undo: nonisolated(nonsending) () async -> Bool
  ) async -> DurableEnding<Value> {
    do {
      try throwIfStopped()
      try checkLease()
    } catch {
      return .unstored(.failure(error))
    }
    let isUndone = (try? await undoing(call.key, undo)) ?? false
    let ending: DurableEnding<Value> = failed(error, call, isUndone: isUndone)
    try? await flush()
    return ending
  }

  /// A step has failed; it throws the same error now and in each replay.
  private func failed<Value>(
    _ error: any Error,
    _ call: DurableCall,
    isUndone: Bool? = nil
  ) -> DurableEnding<Value> {
    // Its first body may have done what the repetition was not left to do.
    let isSettled = isUndone ?? !(Task.isCancelled && call.isUndoable && call.isAgain)
    let failure = StoredFailure(error, of: call.name)
    return state.withLock { state in
      state.repeating.remove(call.key)
      if let error = state.stopError { return .unstored(.failure(error)) }
      if state.isStopped {
        _ = poison(&state)
        return .unstored(.failure(error))
      }
      if let seen = call.failure, state.log.records[call.key] != nil {
        // What the code has seen counts.
        if isSettled { enqueue(.settled(call.key), &state) }
        return .repeated(seen)
      }
      enqueue(.failed(call.key, by: call.caller(state), number: state.nextNumber(), failure), &state)
      if !isSettled { enqueue(.began(call.key, by: call.caller(state)), &state) }
      state.order.end(call.key)
      return .stored(.failure(failure.error(of: call.name)))
    }
  }
}

/// A step whose body runs.
struct DurableCall: Sendable {
  let name: String
  let key: String
  /// The number of the task that has called it.
  let task: Int
  let isUndoable: Bool
  /// Whether the body may have run before, in a process that crashed, and is not performed only to be undone.
  var isAgain = false
  /// The error that the step throws when it is performed only to be undone.
  var failure: (any Error)?

  func caller(_ state: DurableState) -> DurableCaller { DurableCaller(task: task, calls: state.order.callCount) }
}

/// How a step that was performed has ended.
enum DurableEnding<Value> {
  /// The end is stored, and is returned in its turn.
  case stored(Result<JournalEnd<Value>, any Error>)
  /// The end had been stored, and the step was performed once more in its turn.
  case repeated(any Error)
  case unstored(Result<JournalEnd<Value>, any Error>)
}
