// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

// MARK: - Cancelling for good

extension DurableRun {
  func cancel(reason: String?) -> Bool {
    let (isFirst, hasBegun) = state.withLock { state in
      (!state.isStopped && requestCancellation(reason, &state), state.hasBegun)
    }
    if isFirst, hasBegun { storeCancellation() }
    return isFirst
  }

  /// Stores that the run is cancelled, even while it stops.
  ///
  /// - Returns: Whether this call has cancelled it; nil when it has ended in this process.
  func cancelAndStore(reason: String?) async throws -> Bool? {
    let isFirst = state.withLock { $0.hasEnded ? nil : requestCancellation(reason, &$0) }
    guard let isFirst, isFirst else { return isFirst }
    await storeCancellation().value
    if let error = state.withLock({ $0.stopError }) { throw error }
    return true
  }

  private func requestCancellation(_ reason: String?, _ state: inout DurableState) -> Bool {
    guard state.cancellation == nil, state.log.phase == .running else { return false }
    state.cancellation = Cancellation(reason: reason)
    if state.hasBegun { enqueueCancellation(reason, &state) }
    return true
  }

  @discardableResult
  private func storeCancellation() -> Task<Void, Never> {
    let task = spawn(on: bodyExecutor) { [self] in
      if (try? await flush()) != nil { executor?.notify() }
    }
    state.withLock { $0.cancelling = task }
    return task
  }
}

// MARK: - Storing

extension DurableRun {
  /// The code learns that the run is cancelled when that is stored.
  func enqueueCancellation(_ reason: String?, _ state: inout DurableState) {
    enqueue(.cancelled(reason: reason), &state)
    state.order.cancel(reason: reason, after: state.queuedCount)
  }

  /// Applies an event and queues it; what is queued is stored together with what follows.
  func enqueue(_ event: DurableEvent, _ state: inout DurableState) {
    // Code that goes on after the outcome takes no path that a further process finds.
    guard !settings.isCheck, !state.hasEnded, !(state.log.isConcluded && event.isOfOrder) else { return }
    state.log.apply(event)
    state.queue.append(event)
    state.queuedCount += 1
  }

  private enum Writing {
    case done
    case wait(Once<Void>)
    case write([DurableEvent], version: UInt64, CheckpointLease)
  }

  /// Waits until everything that was queued is stored.
  ///
  /// - Throws: The error that stops the run.
  func flush() async throws {
    let target = state.withLock { $0.queuedCount }
    while true {
      let writing = try state.withLock { state throws in
        if let error = state.stopError { throw error }
        if state.storedCount >= target { return Writing.done }
        if state.isWriting {
          let written = state.written ?? Once()
          state.written = written
          return .wait(written)
        }
        guard let lease = state.holder?.lease else {
          throw CheckpointError.lostLease(id: id, location: location)
        }
        state.isWriting = true
        let events = state.queue
        state.queue = []
        return .write(events, version: state.recordVersion, lease)
      }
      switch writing {
      case .done: return
      case .wait(let once): await once.valueIgnoringCancellation()
      case .write(let events, let version, let lease): try await write(events, version, lease)
      }
    }
  }

  private func write(_ events: [DurableEvent], _ version: UInt64, _ lease: CheckpointLease) async throws {
    let append: @concurrent @Sendable () async -> Result<Void, any Error> = { [store] in
      await .of { try await store.append(DurableEvent.bytes(of: events), ifVersionIs: version, under: lease) }
    }
    // What is stored while a run is cancelled matters most. The file store ignores cancellation; for another one, the
    // call is in a task that no one cancels. It prefers the executor of the run, whose virtual time waits for it.
    let result = store is FileCheckpointStore ? await append() : await shielded(append)
    if case .failure(let error) = result { stop(throwing: error) }
    let written = state.withLock { state in
      state.isWriting = false
      if case .success = result {
        state.recordVersion += 1
        state.storedCount += events.count
      }
      return state.written.take()
    }
    written?.settle(())
    try result.get()
  }
}
