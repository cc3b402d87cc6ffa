// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

// MARK: - Begin and end

extension DurableRun {
  func begin(_ interrupt: @escaping @Sendable (String?) -> Void) async throws -> JournalStart {
    do {
      return try await start(interrupt)
    } catch {
      // The step that awaits this run has not failed: it is performed again when the outer run is resumed.
      if !(error is CancellationError) { settings.outer?.stop(throwing: error) }
      throw error
    }
  }

  private func start(_ interrupt: @escaping @Sendable (String?) -> Void) async throws -> JournalStart {
    // Before the first body.
    _ = (try inputs, try outputs)
    let holder: LeaseHolder
    do {
      holder = try await LeaseHolder(id, of: store, LeaseClock(ContinuousClock()))
    } catch let error as CheckpointError where error.cannotWrite {
      // On a full or read-only disk the outcome of a run that has ended can still be read.
      guard let stored = try await stored(), stored.log.isEnded else { throw error }
      return .ended(try outcome(of: stored.log.outcome))
    }
    let executor = DurableExecutor(on: currentExecutor) { [weak self] in self?.deliver() ?? false }
    state.withLock { state in
      state.executor = executor
      state.holder = holder
      state.interrupt = interrupt
      state.taskIdentity = DurablePosition.taskIdentity
    }
    holder.loss?.onCancel { [weak self] _ in if let self { stop(throwing: store.lostLease(of: id)) } }
    var stored = try await stored()
    if stored == nil { stored = try await saveStart(under: holder.lease) }
    guard let stored else { throw CheckpointError.notStarted(id: id, location: location) }
    if stored.log.isEnded {
      let outcome = try outcome(of: stored.log.outcome)
      state.withLock { $0.log = stored.log }
      _ = try? await sync(stored, under: holder.lease)
      await end()
      return .ended(outcome)
    }
    let input = try input(stored.start.input)
    let version = try await sync(stored, under: holder.lease)
    let isCancelled = state.withLock { state -> Bool in
      state.log = stored.log
      state.order = DurableOrder(stored.events)
      state.start = stored.start
      state.recordVersion = version
      state.isDecidedBefore = stored.log.phase != .running
      guard let cancellation = state.cancellation, state.log.phase == .running else { return false }
      enqueueCancellation(cancellation.reason, &state)
      return true
    }
    Self.live.withLock { $0[ObjectIdentifier(self)] = self }
    if isCancelled { try await flush() }
    return .input(input)
  }

  func end() async {
    let cancelling = state.withLock { state in
      state.hasEnded = true
      return state.cancelling.take()
    }
    await cancelling?.value
    // A cancellation whose request was just in time.
    if state.withLock({ $0.hasBegun && $0.queuedCount > $0.storedCount }) { try? await flush() }
    let holder = state.withLock { state in
      (state.interrupt, state.root) = (nil, nil)
      return state.holder.take()
    }
    Self.live.withLock { _ = $0.removeValue(forKey: ObjectIdentifier(self)) }
    await holder?.release()
    ended.settle(())
  }

  // MARK: - The runs of this process

  private static let live = Lock([ObjectIdentifier: DurableRun]())

  /// Returns the run of a chain that holds an id in a store, or in another one over the same directory.
  static func find(_ id: String, of name: String, in store: any CheckpointStore) -> DurableRun? {
    let (location, identity) = (store.location(of: id), identity(of: store))
    return live.withLock { Array($0.values) }.first { run in
      guard run.id.utf8.elementsEqual(id.utf8), run.settings.name == name else { return false }
      let isSameStore = identity != nil && Self.identity(of: run.store) == identity
      return isSameStore || location.hasPrefix("/") && run.location == location
    }
  }

  private static func identity(of store: any CheckpointStore) -> ObjectIdentifier? {
    if let store = store as? EncodedCheckpointStore { return identity(of: store.base) }
    return type(of: store) is AnyClass ? ObjectIdentifier(store as AnyObject) : nil
  }
}

// MARK: - What is stored when a run begins

extension DurableRun {
  func stored() async throws -> DurableRecord? {
    guard let record = try await store.load(id) else { return nil }
    let stored = try DurableRecord(record, of: settings.name, at: location)
    if let input = settings.input, try differs(input, from: stored.start.input) {
      throw CheckpointError.differentStart(id: id, location: location)
    }
    return stored
  }

  /// Syncs what was loaded; of a run that has ended, only the outcome is kept.
  ///
  /// The process that wrote it may have died before it was synced. What this process does must not outlive what it is
  /// based on, for example when the power fails. The database of a fleet has synced what it returns.
  ///
  /// - Returns: The version of the record.
  func sync(_ stored: DurableRecord, under lease: CheckpointLease) async throws -> UInt64 {
    guard !settings.isCheck, !stored.events.isEmpty else { return stored.version }
    if stored.log.isEnded {
      let outcome = stored.events.filter(\.isOutcome)
      guard outcome.count < stored.events.count else { return stored.version }
      let record = record(stored.start, version: stored.version &+ 1, outcome)
      try await store.save(record, ifVersionIs: stored.version, under: lease)
    } else {
      guard settings.host == nil else { return stored.version }
      try await store.append([], ifVersionIs: stored.version, under: lease)
    }
    return stored.version &+ 1
  }

  func saveStart(under lease: CheckpointLease) async throws -> DurableRecord? {
    guard let input = settings.input else { return nil }
    let inputs = try inputs
    let bytes: [UInt8]
    do {
      bytes = try inputs.stored(input).bytes
      try checkCodec(bytes)
    } catch {
      throw unstorable("its input", StoredReason.text(error))
    }
    let start = DurableStart(identity: DurableStart.newIdentity(), version: settings.version, input: bytes)
    try await store.save(record(start, version: 1, []), ifVersionIs: nil, under: lease)
    return DurableRecord(start: start, version: 1)
  }

  /// Returns the record of the run with some events.
  func record(_ start: DurableStart, version: UInt64, _ events: [DurableEvent]) -> CheckpointRecord {
    let entries = events.isEmpty ? [] : [DurableEvent.bytes(of: events)]
    let name = DurableRecord.name(settings.name)
    return CheckpointRecord(id: id, name: name, start, version: version, entries: entries)
  }

  /// Equal bytes are equal inputs; but those of a set differ from process to process, so others say nothing, and values
  /// that are not `Equatable` cannot be compared.
  private func differs(_ input: any Sendable, from stored: [UInt8]) throws -> Bool {
    if let bytes = try? inputs.encode(input), bytes == stored { return false }
    guard input is any Equatable else { return false }
    return StageDifference.path(from: input, to: try self.input(stored)) != nil
  }

  private func input(_ bytes: [UInt8]) throws -> any Sendable {
    do {
      return try inputs.decode(bytes)
    } catch {
      throw unknown("input", error)
    }
  }

  /// The outcome of a run that has ended.
  func outcome(of stored: StoredOutcome) throws -> Outcome<any Sendable> {
    switch stored {
    case .resolved(let bytes):
      do {
        return .resolved(try outputs.decode(bytes))
      } catch {
        throw unknown("output", error)
      }
    case .failed(let failure): return .failed(failure.error(of: settings.name))
    case .cancelled(let reason, let underlying):
      let error = underlying.map { $0.error(of: settings.name) }
      return .cancelled(Cancellation(reason: reason, underlyingError: error))
    }
  }
}
