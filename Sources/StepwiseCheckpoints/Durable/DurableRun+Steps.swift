// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

// MARK: - Steps

extension DurableRun {
  var isInStep: Bool { position.isBody }

  func part(_ step: JournalStep, in run: JournalRun) throws -> JournalKey {
    let position = position
    guard !step.isUndoable else {
      let outer = position.step.map(DurableLog.name) ?? ""
      throw stop(throwing: CheckpointError.undoInStep(id: id, location: location, step: step.name, outer: outer))
    }
    try throwIfStopped()
    // A body that is repeated to be undone does its work.
    let isRepeated = state.withLock { $0.log.isRepeated(position.scope) }
    guard isRepeated || !run.isCancellationRequested() else { throw CancellationError() }
    return JournalKey(position.open(step.name), attempts: 0, isBody: true)
  }

  nonisolated(nonsending) func step<Value>(
    _ step: JournalStep,
    in run: JournalRun,
    _ body: nonisolated(nonsending) (JournalKey) async throws -> Value
  ) async throws -> JournalEnd<Value> {
    noteCancellation(of: run)
    try throwIfStopped()
    guard !isOutside else {
      throw stop(throwing: CheckpointError.stepOutside(id: id, location: location, step: step.name))
    }
    guard let values = DurableValues<Value>() else {
      throw stop(throwing: unstorable(step.name, DurableValues<Value>.refusal(of: Value.self)))
    }
    guard let (key, thread) = position.name(step) else {
      throw stop(throwing: CheckpointError.repeatedStep(id: id, location: location, step: step.name))
    }
    let isCancelled = run.isCancellationRequested()
    let isBody = position.isBody
    let (begin, isExpired, place) = proceeding { state in
      let isExpired = state.expired.contains { DurableLog.contains($0, key) }
      let begin = state.log.begin(key, thread: thread, isCut: isExpired || isCancelled, isOrdered: !isBody)
      // It may not enter its body, for whose steps others wait.
      return (begin, isExpired, JournalKey(key, attempts: state.log.attempts[key, default: 0], isBody: true))
    }
    switch begin {
    case .different(let stored): throw stop(throwing: different(stored: stored, code: key))
    case .replay(let record, let entersBody):
      if entersBody { try await enter(place, body) }
      return try await replay(record, step, key, values)
    case .enter:
      try await enter(place, body)
      try await refuse(after: nil, at: key)
    case .refuse where settings.isCheck, .perform where settings.isCheck:
      if state.withLock({ $0.log.hasRecords(in: key) }) {
        try await enter(place, body)
      } else if !isBody {
        try await waitForReplay(at: key)
      }
      throw stop(throwing: DurableCheckEnd())
    case .refuse(let number): try await refuse(after: number, at: key)
    case .perform(let why):
      let (isInRepetition, isOpen) = state.withLock { state in
        (state.log.repetition(around: key) != nil, state.log.end(of: key) == nil && !state.log.isUnwinding)
      }
      var call = DurableCall(name: step.name, key: key, thread: thread, isUndoable: step.isUndoable, why: why)
      call.isOrdered = thread == nil || !position.isBody
      call.isExpired = isExpired && !isInRepetition && isOpen
      if why != .toUndo, !position.isBody { try await waitForReplay(at: key) }
      if why != .toUndo { await waitForLimit(around: call) }
      // One that contains stored steps is entered, for they may have to be undone.
      let isEmpty = state.withLock { !$0.log.hasRecords(in: key) }
      if why != .toUndo, !isInRepetition, isEmpty, run.isCancellationRequested() {
        await waitForTurn(of: nil, at: key)
        throw await fail(CancellationError(), call)
      }
      return try await perform(call, values) {
        do {
          return try await body(place)
        } catch {
          noteCancellation(of: run)
          throw error
        }
      }
    }
  }

  /// Whether the calling code is neither the body of a step nor on the executor of the run; false where the runtime does
  /// not expose the executor that a task prefers.
  private var isOutside: Bool {
    guard #available(macOS 26.4, iOS 26.4, tvOS 26.4, watchOS 26.4, visionOS 26.4, *) else { return false }
    return !position.isBody && executor.map { currentExecutor !== $0 } ?? false
  }

  /// No body runs any more: the step throws when everything before it has been replayed, which may have to be undone.
  private nonisolated(nonsending) func refuse(after number: Int?, at key: String) async throws -> Never {
    await waitForTurn(of: number, at: key)
    try throwIfStopped()
    throw CancellationError()
  }

  /// Notes a cancellation that the run itself does not notice: by the token of a nested chain, or of the run's task by
  /// its own code.
  private func noteCancellation(of run: JournalRun) {
    let task = Task.isCancelled ? DurablePosition.task : nil
    let isCancelled = run.isRunCancelled()
    let isStopped = state.withLock { state in
      !state.isStopRequested && state.cancellation == nil && (isCancelled || task == state.place.owner)
    }
    if isStopped { stop() }
  }

  /// Runs the body of a step for the sake of the steps inside it that may have to be undone.
  private nonisolated(nonsending) func enter<Value>(
    _ place: JournalKey,
    _ body: nonisolated(nonsending) (JournalKey) async throws -> Value
  ) async throws {
    do {
      _ = try await outside { try await body(place) }
    } catch {
      try throwIfStopped()
    }
  }

  private nonisolated(nonsending) func replay<Value>(
    _ record: DurableLog.Record,
    _ step: JournalStep,
    _ key: String,
    _ values: DurableValues<Value>
  ) async throws -> JournalEnd<Value> {
    await waitForTurn(of: record.number, at: key)
    try throwIfStopped()
    defer { endTurn(of: record.number, key) }
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
      return JournalEnd(value: value, number: isOutstanding ? record.number : nil, isReplayed: true)
    }
  }
}

// MARK: - Performing

extension DurableRun {
  private nonisolated(nonsending) func perform<Value>(
    _ call: DurableCall,
    _ values: DurableValues<Value>,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> JournalEnd<Value> {
    state.withLock { $0.waits.called(call.key) }
    defer { state.withLock { $0.waits.returned(call.key) } }
    let ending = try await outside { await performed(call, values, body) }
    if let number = ending.number {
      // In the order in which a replay returns them.
      await waitForTurn(of: number, at: call.key)
      if call.isOrdered { endTurn(of: number, call.key) }
    }
    return try ending.result.get()
  }

  private nonisolated(nonsending) func performed<Value>(
    _ call: DurableCall,
    _ values: DurableValues<Value>,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async -> DurableEnding<Value> {
    let (key, thread) = (call.key, call.thread)
    state.withLock { state in
      if call.isUndoable, !state.log.begun.contains(key) { enqueue(.began(key, thread: thread), &state) }
    }
    let value: Value
    do {
      // With the failures before it.
      try await flush()
      try checkLease()
    } catch {
      return DurableEnding(throwing: error)
    }
    do {
      value = try await working(at: key) { try await run(call, body) }
    } catch {
      return failed(error, call)
    }
    // Code that swallows the error of a stop has not done its work.
    let poison = state.withLock { state in state.isPoisoned(key) ? state.stopError ?? CancellationError() : nil }
    if let poison { return DurableEnding(throwing: poison) }
    let stored: (bytes: [UInt8], copy: Value)
    do {
      stored = try values.stored(value)
      guard stored.bytes.count <= settings.maxValueSize else {
        throw DataError(reason: "it has \(stored.bytes.count) bytes; the limit is \(settings.maxValueSize)")
      }
    } catch {
      let error = unstorable(call.name, StoredReason.text(error))
      return call.isUndoable ? unstored(value, call, error) : failed(error, call)
    }
    if call.isUndoable {
      // It counts as failed since an earlier process.
      if case .failure(let failure)? = state.withLock({ $0.log.end(of: key) })?.end {
        return unstored(value, call, failure.error(of: call.name))
      }
      // Otherwise its value would be that of the work whose time is over.
      if call.isExpired { return unstored(value, call, CancellationError()) }
      // Abandoned work whose run has ended.
      if state.withLock({ $0.hasEnded && !$0.isStopped }) { return unstored(value, call, nil) }
    }
    let number = state.withLock { state in
      let number = state.number(of: key)
      enqueue(
        .completed(key, thread: thread, number: number, value: stored.bytes, isUndoable: call.isUndoable),
        &state
      )
      if let signal = state.waits.consume(at: key) { enqueue(.received(signal), &state) }
      if call.isOrdered { state.willReturn(number) }
      return number
    }
    let turn = call.isOrdered ? number : nil
    do {
      try await flush()
    } catch {
      return DurableEnding(throwing: error, number: turn)
    }
    let end = JournalEnd(value: stored.copy, number: call.isUndoable ? number : nil, isReplayed: false)
    return DurableEnding(result: .success(end), number: turn)
  }

  /// Runs the body of a step; the replayed ends that could cancel one that runs to be undone wait for it.
  private nonisolated(nonsending) func run<Value>(
    _ call: DurableCall,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    guard call.why == .toUndo else { return try await body() }
    let position = DurablePosition(self, scope: call.key, step: call.key, isBody: true)
    let result = await Result.of {
      try await DurablePosition.$current.bind(position, body)
    }
    proceeding { _ = $0.log.repeating.remove(call.key) }
    await waitForLimit(around: call)
    return try result.get()
  }

  /// Waits until the time limit around a step, which is over, cancels it when everything has been replayed.
  private nonisolated(nonsending) func waitForLimit(around call: DurableCall) async {
    if call.isExpired { try? await Task.sleep(for: .century) }
  }

  /// A step has a value that is not stored: it is undone at once, with this value.
  ///
  /// After a crash, it is repeated first.
  private func unstored<Value>(_ value: Value, _ call: DurableCall, _ error: (any Error)?) -> DurableEnding<Value> {
    let failure = error.map { StoredFailure($0, of: call.name) }
    let number = state.withLock { state in
      let number = state.nextNumber()
      state.unstored[number] = DurableState.Unstored(key: call.key, thread: call.thread, failure: failure)
      if let turn = state.log.pendingNumber(of: call.key) { state.undoneFirst[number] = (turn, call.key) }
      return number
    }
    let end = JournalEnd(value: value, number: number, error: error, isReplayed: false)
    return DurableEnding(result: .success(end), number: nil)
  }

  /// A step, or a group of steps, has failed; returns the error that it throws, now and in each replay.
  nonisolated(nonsending) func fail(_ error: any Error, _ call: DurableCall) async -> any Error {
    let (thrown, number) = note(error, call)
    guard let number else { return thrown }
    await waitForTurn(of: number, at: call.key)
    if call.isOrdered { endTurn(of: number, call.key) }
    return thrown
  }

  private func failed<Value>(_ error: any Error, _ call: DurableCall) -> DurableEnding<Value> {
    let (thrown, number) = note(error, call)
    return DurableEnding(throwing: thrown, number: number)
  }

  /// Notes a failure; returns the error that the step throws, and the number of its end if that is stored.
  private func note(_ error: any Error, _ call: DurableCall) -> (any Error, Int?) {
    let isInterrupted = Task.isCancelled
    // Between steps, the interruption comes at the same point of each replay.
    let mayComeEarlier = isInterrupted && position.isBody
    let failure = StoredFailure(error, of: call.name)
    let replayed = failure.error(of: call.name)
    return state.withLock { state -> (any Error, Int?) in
      if let error = state.stopError { return (error, nil) }
      if state.isStopped {
        _ = poison(&state)
        return (error, nil)
      }
      if state.cancellation != nil, isInterrupted || error is CancellationError, call.why != .toUndo {
        // The run ends, and a step in doubt around this one is repeated: then this has to do its work.
        if call.isUndoable, call.why == .new { enqueue(.settled(call.key), &state) }
        return (replayed, nil)
      }
      let number = state.number(of: call.key)
      var thrown = replayed
      let end = state.log.end(of: call.key)?.end
      if end == nil {
        let (key, thread) = (call.key, call.thread)
        enqueue(.failed(key, thread: thread, number: number, failure, isInterrupted: mayComeEarlier), &state)
        // Its first body may have done what the repetition was not left to do.
        if isInterrupted, call.isUndoable, call.why != .new { enqueue(.began(key, thread: call.thread), &state) }
      } else {
        enqueue(.settled(call.key), &state)
        // What the code has seen counts.
        if case .failure(let failure)? = end { thrown = failure.error(of: call.name) }
      }
      if call.isOrdered { state.willReturn(number) }
      return (thrown, number)
    }
  }
}

/// A step whose body runs.
struct DurableCall: Sendable {
  let name: String
  let key: String
  let thread: Int?
  let isUndoable: Bool
  let why: DurableLog.Performance
  /// Whether it is returned in the order of the ends: the calls in the body of a step come one after the other anyway,
  /// except in its child tasks.
  var isOrdered = true
  /// Whether the time of the work around it is over, in which it does nothing new.
  var isExpired = false
}

/// How a step that was performed has ended, and the number of the end if it waits for its turn.
struct DurableEnding<Value> {
  let result: Result<JournalEnd<Value>, any Error>
  let number: Int?

  init(result: Result<JournalEnd<Value>, any Error>, number: Int?) {
    self.result = result
    self.number = number
  }

  init(throwing error: any Error, number: Int? = nil) { self.init(result: .failure(error), number: number) }
}
