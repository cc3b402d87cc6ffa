// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

// MARK: - What the code receives

extension DurableRun {
  /// How long a replay waits for code that is elsewhere, and what is called when it has waited in vain.
  // Tests that wait for nothing choose another time, which no busy machine reaches, and count.
  struct Patience: Sendable {
    @TaskLocal static var current = Patience(duration: .seconds(10))

    let duration: Duration
    var onEnd: @Sendable () -> Void = {}
  }

  /// Gives the code between steps what it waits for next; returns false when there is nothing yet.
  ///
  /// Called while all of the code waits.
  func deliver() -> Bool {
    guard let executor else { return false }
    let (held, now) = (executor.held, now)
    let (action, hasCodeEnded) = state.withLock { state in
      let action = state.isStopped ? .rest : state.order.next(after: state.storedCount, held: held, now: now)
      switch action {
      case .expire(let key):
        enqueue(.waited(key, task: state.order.takeTask(of: key)), &state)
        state.order.end(key)
      case .admit(let task, isNew: true): enqueue(.returned(task: task), &state)
      case .rest, .wait: return (action, state.hasCodeEnded)
      default: break
      }
      state.deliveryCount += 1
      return (action, state.hasCodeEnded)
    }
    switch action {
    case .resume(let once): once.settle(())
    case .admit(let task, _): executor.admit(task)
    case .interrupt(let reason): state.withLock { $0.interrupt }?(reason)
    case .begin(let calls):
      if settings.isCheck, !hasCodeEnded { stop(throwing: DurableCheckEnd()) }
      for once in calls { once.settle(()) }
    case .expire: break
    case .differ(let stored, _) where hasCodeEnded, .wait(.call(let stored)) where hasCodeEnded:
      state.withLock { $0.replayed }?.settle(stored)
      return false
    case .differ(let stored, let found): stop(throwing: different(stored: stored, code: found))
    case .wait(.code) where hasCodeEnded: state.withLock { _ = $0.order.skip() }
    case .wait:
      if !hasCodeEnded { waitForCode() }
      return false
    case .rest:
      let replayed = state.withLock { $0.order.isReplayed && $0.repeating.isEmpty ? $0.replayed : nil }
      replayed?.settle(nil)
      endIfDone()
      stopIfIdle()
      return false
    }
    return true
  }

  /// All code between steps waits, and nothing known is what it waits for: it may return from elsewhere.
  private func waitForCode() {
    let count = state.withLock { state -> Int? in
      guard !state.isWaitingForCode else { return nil }
      state.isWaitingForCode = true
      return state.deliveryCount
    }
    guard let count else { return }
    _ = spawn(on: bodyExecutor) { [weak self, patience] in
      try? await Task.sleep(for: patience.duration)
      guard let self else { return }
      let (missing, waiting) = state.withLock { state -> (String?, [String]) in
        state.isWaitingForCode = false
        guard state.deliveryCount == count, !state.isStopped, !state.hasCodeEnded else { return (nil, []) }
        patience.onEnd()
        return (state.order.skip(), state.order.waiting)
      }
      if let missing {
        stop(throwing: CheckpointError.waitOutside(id: id, location: location, step: missing, waiting: waiting))
      }
      executor?.notify()
    }
  }

  /// Waits until everything before the end of a step or of a wait has been delivered.
  @concurrent func waitForTurn(of key: String, _ once: Once<Void> = Once()) async {
    guard state.withLock({ !$0.isStopped && $0.order.wait(for: key, once) }) else { return }
    executor?.notify()
    await once.valueIgnoringCancellation()
  }

  /// The code of the run has ended: where that of abandoned work goes on does not count.
  func endCode() {
    state.withLock { $0.hasCodeEnded = true }
    executor?.free()
  }

  /// Waits until everything that is stored has been delivered, after the end of the code.
  ///
  /// - Returns: A stored step that the code has not called.
  func waitForReplay() async -> String? {
    endCode()
    let once = Once<String?>()
    let waits = state.withLock { state in
      // The code of a step in doubt may be on its way there, to perform it and undo it.
      let isReplayed = state.order.isReplayed && state.log.begun.isEmpty
      guard !state.isStopped, !isReplayed else { return false }
      state.replayed = once
      return true
    }
    guard waits else { return lateStep }
    executor?.notify()
    return await once.valueIgnoringCancellation() ?? lateStep
  }

  /// A step that is still to be undone and that the code has not called.
  private var lateStep: String? {
    state.withLock { state in state.order.late.first { state.log.records[$0]?.isOutstanding ?? false } }
  }

  /// A step in doubt, or an inner run, was performed where its end was.
  func unblock() {
    state.withLock { $0.order.isBlocked = false }
    executor?.notify()
  }

  /// Nothing waits any more, because the run stops.
  func releaseAll() {
    let (waiting, replayed) = state.withLock { state in
      state.isStopped ? (state.order.takeAll(), state.replayed) : ([], nil)
    }
    for once in waiting { once.settle(()) }
    replayed?.settle(nil)
    executor?.free()
    executor?.notify()
  }

  /// Lets the run end when nothing is to be undone any more: all code waits for something, or is elsewhere.
  private func endIfDone() {
    let (ending, isElsewhere) = state.withLock { state -> (Once<Void>?, Bool) in
      guard state.ending != nil, state.undoing == 0 else { return (nil, false) }
      // In a replay, work that waits for nothing else returns to undo what is stored.
      let isElsewhere = state.isDecidedBefore && !state.isStopped && !state.order.hasCalls && state.hasUndosLeft
      return isElsewhere ? (nil, true) : (state.ending.take(), false)
    }
    if isElsewhere { waitForUndoElsewhere() }
    ending?.settle(())
  }

  private func waitForUndoElsewhere() {
    guard state.withLock({ !exchange(&$0.isWaitingForCode, with: true) }) else { return }
    _ = spawn(on: bodyExecutor) { [weak self, patience] in
      try? await Task.sleep(for: patience.duration)
      let ending = self?.state.withLock { state in
        state.isWaitingForCode = false
        return state.ending.take()
      }
      guard let ending else { return }
      patience.onEnd()
      ending.settle(())
    }
  }
}

// MARK: - What the code waits for

extension DurableRun {
  /// Whether the running code is between steps, and its order counts.
  private var isOrdered: Bool {
    !position.isBody && !position.isUndo && state.withLock { $0.executor != nil && !$0.hasCodeEnded && !$0.isStopped }
  }

  @concurrent func offExecutor<Value: Sendable>(
    as kind: WorkOffExecutor,
    _ work: @concurrent @escaping @Sendable () async -> Value
  ) async -> Value {
    guard kind == .undos else { return await away(as: kind, work) }
    state.withLock { $0.undoing += 1 }
    let value = await away(as: kind, work)
    // Back on the executor: it is busy until what follows waits.
    state.withLock { $0.undoing -= 1 }
    executor?.notify()
    return value
  }

  @concurrent private func away<Value: Sendable>(
    as kind: WorkOffExecutor,
    _ work: @concurrent @escaping @Sendable () async -> Value
  ) async -> Value {
    guard isOrdered, let executor else {
      let value = await withTaskExecutorPreference(bodyExecutor) { await work() }
      await moveToPreferredExecutor()
      return value
    }
    await waitToCall()
    let (key, permit, task) = (position.openWait(), Once<Void>(), executor.task)
    let answer = state.withLock { $0.order.call(key, by: task, permit) }
    if answer == .later { await wait(for: permit) }
    // What occupies a gate may be a part of the run that waits.
    if kind != .admission { state.withLock { _ = $0.waits.called(key) } }
    defer { state.withLock { _ = $0.waits.delivered(key) } }
    let blocks = kind == .run && answer == .stored
    if blocks {
      await waitForTurn(of: key)
      state.withLock { $0.order.isBlocked = true }
    }
    executor.depart()
    let body = DurablePosition(self, scope: key, step: nil, isBody: true)
    let value = await withTaskExecutorPreference(bodyExecutor) {
      await DurablePosition.$current.withValue(body) { await work() }
    }
    await moveToPreferredExecutor()
    if blocks {
      unblock()
    } else {
      if answer != .stored { end(key) }
      await waitForTurn(of: key)
    }
    return value
  }

  private func end(_ key: String) {
    state.withLock { state in
      // In one lock with the end: the code may leave a wait at the same time.
      guard !state.isStopped, state.order.isCalled(key) else { return }
      enqueue(.waited(key, task: state.order.takeTask(of: key)), &state)
      state.order.end(key)
    }
  }

  /// Returns to the executor from an actor that something else had occupied.
  @concurrent func returnToExecutor() async {
    guard isOrdered, let executor, !executor.isCurrent else { return }
    await withTaskExecutorPreference(executor.outer) { await moveToPreferredExecutor() }
    await moveToPreferredExecutor()
  }

  /// Waits until the running task may call for something: after it had been elsewhere in earlier processes.
  @concurrent func waitToCall() async {
    await returnToExecutor()
    guard isOrdered, let executor else { return }
    let (once, task) = (Once<Void>(), executor.task)
    guard state.withLock({ !$0.isStopped && $0.order.mustWaitToCall(task, once) }) else { return }
    executor.notify()
    await once.valueIgnoringCancellation()
    // It may have departed more than once.
    await waitToCall()
  }

  /// Waits until something that is new may begin.
  func wait(for permit: Once<Void>) async {
    guard state.withLock({ !$0.isStopped }) else { return }
    executor?.notify()
    await permit.valueIgnoringCancellation()
  }

  func beginWait(
    for duration: Duration,
    by clock: any Clock<Duration>
  ) -> @concurrent @Sendable () async throws -> Void {
    guard !position.isBody else { return beginLimit(of: duration, by: clock, in: position.scope) }
    let key = position.openWait()
    let rest = state.withLock { $0.order.isStored(key) } ? .zero : remaining(of: duration, at: key)
    return { [self] in try await wait(at: key, for: duration, rest, by: clock) }
  }

  @concurrent private func wait(
    at key: String,
    for duration: Duration,
    _ rest: Duration,
    by clock: any Clock<Duration>
  ) async throws {
    await returnToExecutor()
    try throwIfStopped()
    let (permit, over) = (Once<Void>(), Once<Void>())
    let hasLeft = Lock(false)
    let sleeper = Lock<Task<Void, Never>?>(nil)
    let task = executor?.task ?? 0
    let answer = state.withLock { state in
      state.order.call(key, by: task, permit, mayBeLeft: true, deadline: state.log.deadlines[key])
    }
    await withTaskCancellationHandler {
      if answer == .later { await wait(for: permit) }
      if answer != .stored, state.withLock({ $0.order.isPerforming(key) }) {
        let rest = answer == .now ? rest : remaining(of: duration, at: key)
        let task = spawn(on: bodyExecutor) { [self] in
          guard (try? await clock.sleep(for: rest)) != nil else { return }
          end(key)
          executor?.notify()
        }
        sleeper.withLock { $0 = task }
        if hasLeft.withLock({ $0 }) { task.cancel() }
        state.withLock { $0.waits.begin(limit: key, $0.log.deadlines[key]) }
      }
      await waitForTurn(of: key, over)
      state.withLock { $0.waits.end(limit: key) }
      // Of a run that stops, it still sleeps.
      sleeper.withLock { $0 }?.cancel()
    } onCancel: {
      guard state.withLock({ $0.order.leave(key) }) else { return }
      hasLeft.withLock { $0 = true }
      sleeper.withLock { $0 }?.cancel()
      permit.settle(())
      over.settle(())
    }
    if hasLeft.withLock({ $0 }) { throw CancellationError() }
    try throwIfStopped()
  }
}
