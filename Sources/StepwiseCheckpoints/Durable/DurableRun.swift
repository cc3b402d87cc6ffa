// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One run of a durable chain in this process: what the engine calls to store steps and to replay them.
final class DurableRun<Input: Codable & Sendable, Output: Codable & Sendable>: DurableRunning {
  /// What a run is started with.
  struct Settings: Sendable {
    let name: String
    let id: String
    /// Nil to resume with the stored one.
    let input: Input?
    let version: Int
    let maxValueSize: Int
    /// The wall-clock time.
    let now: @Sendable () -> Date
    /// Resumes only, and runs no body.
    var isCheck = false
  }

  private struct State: Sendable {
    var log = DurableLog()
    var start = DurableStart(identity: "", version: 0, input: [])
    var holder: LeaseHolder?
    /// The version of the stored record.
    var recordVersion: UInt64 = 0
    /// What is still to be stored.
    var queue: [DurableEvent] = []
    var queuedCount = 0
    var storedCount = 0
    var isWriting = false
    var writers: [Once<Void>] = []
    /// Steps that wait until those before them have been replayed.
    var turns: [Int: Once<Void>] = [:]
    /// Steps of child tasks that have completed and are being stored.
    var returning: Set<Int> = []
    /// Steps in doubt that this process has repeated.
    var repeated: Set<String> = []
    /// Steps whose values could not be stored, by the numbers of their undos.
    var unstored: [Int: String] = [:]
    var lastNumber = 0
    /// Why the run stops, if it was not cancelled.
    var stopError: (any Error)?
    var isStopRequested = false
    /// The scopes in which a step has thrown because the run stops, so that what their code returns means nothing.
    var poisoned: Set<String> = []
    var hasBegun = false
    /// The identity of the run's own task, which nothing but a stop cancels.
    var task = 0
    var isResumed = false
    var cancellation: Cancellation?
    var interrupt: (@Sendable (String?) -> Void)?
    var cancelling: Task<Void, Never>?
    var leaseWatch: Task<Void, Never>?
  }

  private let settings: Settings
  private let store: any CheckpointStore
  private let state = Lock(State())

  init(_ settings: Settings, in store: any CheckpointStore) {
    self.settings = settings
    self.store = store
  }

  private var id: String { settings.id }
  private var location: String { store.location(of: id) }
  var identity: String { state.withLock { $0.start.identity } }
  var version: Int { state.withLock { $0.start.version } }

  // MARK: - Begin and end

  func begin(_ interrupt: @escaping @Sendable (String?) -> Void) async throws -> JournalStart {
    let requested = LeaseClock(ContinuousClock())
    let start = requested.now()
    let lease: CheckpointLease
    do {
      lease = try await store.acquire(id)
    } catch let error as CheckpointError where error.cannotWrite {
      // On a full or read-only disk the outcome of a run that has ended can still be read.
      guard let stored = try await stored(), stored.log.isEnded else { throw error }
      return .ended(try outcome(of: stored.log))
    }
    let holder = LeaseHolder(lease, of: store, requested, since: start)
    state.withLock { state in
      state.holder = holder
      state.interrupt = interrupt
      state.task = DurablePosition.task
    }
    watch(holder)
    var stored = try await stored()
    if stored == nil { stored = try await saveStart(under: lease) }
    guard var stored else { throw CheckpointError.notStarted(id: id, location: location) }
    if stored.log.isEnded {
      let outcome = try outcome(of: stored.log)
      await end()
      return .ended(outcome)
    }
    let input = try input(of: stored.start)
    stored = try await compacted(stored, under: lease)
    let hasCancelled = state.withLock { state in
      state.log = stored.log
      state.start = stored.start
      state.recordVersion = stored.version
      state.isResumed = stored.log.phase != .running
      state.hasBegun = true
      return state.cancellation != nil
    }
    LiveRuns.add(self, id: id, of: settings.name, store: store)
    if hasCancelled { storeCancellation() }
    return .input(input)
  }

  private struct Stored {
    let start: DurableStart
    let log: DurableLog
    let version: UInt64
    let eventCount: Int
  }

  private func stored() async throws -> Stored? {
    guard let record = try await store.load(id) else { return nil }
    let stored = try DurableRecord(record, of: settings.name, at: location)
    if let input = settings.input, try differs(input, from: stored.start.input) {
      throw CheckpointError.differentStart(id: id, location: location)
    }
    let log = DurableLog(stored.events)
    return Stored(start: stored.start, log: log, version: record.version, eventCount: stored.events.count)
  }

  /// Replaces what is stored when most of it has no effect any more.
  private func compacted(_ stored: Stored, under lease: CheckpointLease) async throws -> Stored {
    let events = stored.log.events
    guard !settings.isCheck, stored.eventCount > 2 * events.count + 16 else { return stored }
    let version = stored.version + 1
    let record = DurableRecord.record(id: id, name: settings.name, stored.start, version: version, events)
    try await store.save(record, ifVersionIs: stored.version, under: lease)
    return Stored(start: stored.start, log: stored.log, version: version, eventCount: events.count)
  }

  private func saveStart(under lease: CheckpointLease) async throws -> Stored? {
    guard let input = settings.input else { return nil }
    guard let values = DurableValues<Input>() else { throw unstorable("its input", "\(Input.self) is not Codable") }
    let bytes: [UInt8]
    do { bytes = try values.stored(input).bytes } catch {
      throw unstorable("its input", DurableValueError.reason(error))
    }
    let start = DurableStart(identity: DurableStart.newIdentity(), version: settings.version, input: bytes)
    let record = DurableRecord.record(id: id, name: settings.name, start, version: 1, [])
    try await store.save(record, ifVersionIs: nil, under: lease)
    return Stored(start: start, log: DurableLog(), version: 1, eventCount: 0)
  }

  private func differs(_ input: Input, from stored: [UInt8]) throws -> Bool {
    guard let values = DurableValues<Input>() else { return false }
    if let bytes = try? values.encode(input), bytes == stored { return false }
    guard input is any Equatable else { return true }
    return StageDifference.path(from: input, to: try self.input(stored)) != nil
  }

  private func input(of start: DurableStart) throws -> Input { try input(start.input) }

  private func input(_ bytes: [UInt8]) throws -> Input {
    do {
      guard let values = DurableValues<Input>() else { throw DurableValueError(reason: "it is not Codable") }
      return try values.decode(bytes)
    } catch {
      throw unknown("input", error)
    }
  }

  /// The outcome of a run that has ended.
  private func outcome(of log: DurableLog) throws -> Outcome<any Sendable> {
    switch log.phase {
    case .concluded(.resolved(let bytes)):
      do {
        guard let values = DurableValues<Output>() else { throw DurableValueError(reason: "it is not Codable") }
        return .resolved(try values.decode(bytes))
      } catch {
        throw unknown("output", error)
      }
    case .concluded(.failed(let failure)): return .failed(DurableFailures.error(failure, of: settings.name))
    case .concluded(.cancelled(let reason, let underlying)):
      let error = underlying.map { DurableFailures.error($0, of: settings.name) }
      return .cancelled(Cancellation(reason: reason, underlyingError: error))
    case .running, .cancelling: return .cancelled(Cancellation(reason: "abandoned"))
    }
  }

  private func watch(_ holder: LeaseHolder) {
    guard let loss = holder.loss else { return }
    let lost = CheckpointError.lostLease(id: id, location: location)
    let watch = spawn { [weak self] in
      if await loss.value() != nil { self?.stop(throwing: lost) }
    }
    state.withLock { $0.leaseWatch = watch }
  }

  func end() async {
    let (cancelling, watch, holder) = state.withLock { state in
      defer { (state.cancelling, state.leaseWatch, state.holder, state.interrupt) = (nil, nil, nil, nil) }
      return (state.cancelling, state.leaseWatch, state.holder)
    }
    await cancelling?.value
    watch?.cancel()
    LiveRuns.remove(self)
    await holder?.release()
  }

  // MARK: - Errors

  private func unstorable(_ step: String, _ reason: String) -> CheckpointError {
    .unstorable(id: id, location: location, step: step, reason: reason)
  }

  private func unknown(_ what: String, _ error: any Error) -> CheckpointError {
    let reason = "\(what): \(DurableValueError.reason(error))"
    return .unknownShape(id: id, location: location, schemaVersion: version, reason: reason)
  }

  private func different(stored: String, code: String?) -> CheckpointError {
    .differentSteps(id: id, location: location, stored: stored, found: code)
  }

  /// Stops the run for an error that says nothing about its work.
  ///
  /// - Returns: The error that stops it, which is the first one.
  @discardableResult
  private func stop(throwing error: any Error) -> any Error {
    let (first, isNew, interrupt, turns) = state.withLock { state in
      let isNew = state.stopError == nil
      let first = state.stopError ?? error
      state.stopError = first
      defer { state.turns = [:] }
      return (first, isNew, state.interrupt, Array(state.turns.values))
    }
    for turn in turns { turn.settle(()) }
    if isNew { interrupt?(nil) }
    return first
  }

  var isUnwinding: Bool { state.withLock { $0.log.isUnwinding } }

  func stop() { state.withLock { $0.isStopRequested = true } }

  var isStopped: Bool { state.withLock { Self.isStopped($0) } }

  private static func isStopped(_ state: State) -> Bool {
    if state.stopError != nil { return true }
    if case .concluded(.resolved) = state.log.phase { return false }
    return state.isStopRequested
  }

  // MARK: - Cancelling for good

  func cancel(reason: String?) -> Bool {
    let (isFirst, hasBegun) = state.withLock { state in
      guard state.cancellation == nil, !Self.isStopped(state), state.log.phase == .running else {
        return (false, false)
      }
      state.cancellation = Cancellation(reason: reason)
      if state.hasBegun { enqueue(.cancelled(reason: reason), &state) }
      return (true, state.hasBegun)
    }
    if isFirst, hasBegun { storeCancellation() }
    return isFirst
  }

  func cancelAndStore(reason: String?) async throws -> Bool {
    guard cancel(reason: reason) else { return false }
    await state.withLock { $0.cancelling }?.value
    if let error = state.withLock({ $0.stopError }) { throw error }
    return true
  }

  private func storeCancellation() {
    let task = spawn { [self] in
      let (reason, interrupt) = state.withLock { state in
        if state.log.phase == .running { enqueue(.cancelled(reason: state.cancellation?.reason), &state) }
        return (state.cancellation?.reason, state.interrupt)
      }
      if (try? await flush()) != nil { interrupt?(reason) }
    }
    state.withLock { $0.cancelling = task }
  }

  // MARK: - Storing

  /// Applies an event and queues it; what is queued is stored together with what follows.
  private func enqueue(_ event: DurableEvent, _ state: inout State) {
    guard !settings.isCheck else { return }
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
  private func flush() async throws {
    let target = state.withLock { $0.queuedCount }
    while true {
      let writing = try state.withLock { state throws in
        if let error = state.stopError { throw error }
        if state.storedCount >= target { return Writing.done }
        if state.isWriting {
          let once = Once<Void>()
          state.writers.append(once)
          return .wait(once)
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
    let result: Result<Void, any Error>
    do {
      // In a task that no one cancels: what is stored while a run is cancelled is what matters most.
      let append = Task { [store] in
        try await store.append(DurableEvent.bytes(of: events), ifVersionIs: version, under: lease)
      }
      result = .success(try await append.value)
    } catch {
      result = .failure(error)
    }
    if case .failure(let error) = result { stop(throwing: error) }
    let writers = state.withLock { state in
      state.isWriting = false
      if case .success = result {
        state.recordVersion += 1
        state.storedCount += events.count
      }
      defer { state.writers = [] }
      return state.writers
    }
    for writer in writers { writer.settle(()) }
    try result.get()
  }

  // MARK: - Steps

  private var position: DurablePosition {
    if let current = DurablePosition.current, current.run === self { return current }
    return root
  }

  private var root: DurablePosition {
    rootPosition.withLock { root in
      if let root { return root }
      let new = DurablePosition(self, scope: "", step: nil)
      root = new
      return new
    }
  }

  private let rootPosition = Lock(DurablePosition?.none)

  nonisolated(nonsending) func step<Value>(
    _ step: JournalStep,
    in run: JournalRun,
    _ body: nonisolated(nonsending) (JournalPlace) async throws -> Value
  ) async throws -> JournalEnd<Value> {
    try checkStopped(run)
    guard let values = DurableValues<Value>() else {
      throw stop(throwing: unstorable(step.name, Self.adviceForType(Value.self)))
    }
    guard let (key, index) = position.name(step) else {
      throw stop(throwing: CheckpointError.repeatedStep(id: id, location: location, step: step.name))
    }
    let (begin, place) = state.withLock { state in
      (state.log.begin(key, index: index), JournalPlace(key, attempts: state.log.attempts(at: key)))
    }
    switch begin {
    case .different(let stored): throw stop(throwing: different(stored: stored, code: key))
    case .replay(let record, let entersBody):
      if entersBody { try await enter(place, body) }
      return try await replay(record, step, key, values)
    case .enter:
      try await enter(place, body)
      throw CancellationError()
    case .refuse, .perform:
      guard !settings.isCheck else {
        if state.withLock({ $0.log.hasRecords(in: key) }) { try await enter(place, body) }
        throw stop(throwing: DurableCheckEnd())
      }
      guard case .perform(let isInDoubt) = begin else { throw CancellationError() }
      if !isInDoubt, run.isCancellationRequested() { throw fail(CancellationError(), step.name, key, index) }
      return try await perform(step, key, index, values, isInDoubt: isInDoubt) {
        do {
          return try await body(place)
        } catch {
          noteCancellation(of: run)
          throw error
        }
      }
    }
  }

  /// Notes a cancellation that the run itself does not notice: by the token of a nested chain, or of the run's task by
  /// its own code.
  private func noteCancellation(of run: JournalRun) {
    let task = Task.isCancelled ? DurablePosition.task : nil
    let isCancelled = run.isRunCancelled()
    state.withLock { state in
      if isCancelled || task == state.task, state.cancellation == nil { state.isStopRequested = true }
    }
  }

  private func checkStopped(_ run: JournalRun) throws {
    noteCancellation(of: run)
    try state.withLock { state throws in
      if let error = state.stopError { throw error }
      if Self.isStopped(state) { throw poison(&state) }
    }
  }

  private func poison(_ state: inout State) -> CancellationError {
    state.poisoned.insert(position.scope)
    return CancellationError()
  }

  /// Whether a step within another one has thrown because the run stops.
  private static func isPoisoned(_ key: String, _ state: State) -> Bool {
    state.poisoned.contains { scope in
      guard scope.utf8.starts(with: key.utf8) else { return false }
      return scope.utf8.dropFirst(key.utf8.count).first.map { "/@[".utf8.contains($0) } ?? true
    }
  }

  /// Runs the body of a step for the sake of the steps inside it that may have to be undone.
  private nonisolated(nonsending) func enter<Value>(
    _ place: JournalPlace,
    _ body: nonisolated(nonsending) (JournalPlace) async throws -> Value
  ) async throws {
    do {
      _ = try await body(place)
    } catch {
      try throwIfStopped()
    }
  }

  private func throwIfStopped() throws {
    try state.withLock { state throws in
      if let error = state.stopError { throw error }
      if Self.isStopped(state) { throw poison(&state) }
    }
  }

  private nonisolated(nonsending) func replay<Value>(
    _ record: DurableLog.Record,
    _ step: JournalStep,
    _ key: String,
    _ values: DurableValues<Value>
  ) async throws -> JournalEnd<Value> {
    if record.isExpected { await waitForTurn(of: record.number) }
    try throwIfStopped()
    defer { endTurn(of: record.number, key) }
    switch record.end {
    case .failure(let failure): throw DurableFailures.error(failure, of: step.name)
    case .value(let bytes):
      let value: Value
      do { value = try values.decode(bytes) } catch { throw stop(throwing: unknown("step \(key)", error)) }
      let isOutstanding = state.withLock { !$0.log.isUndone(record.number) } && record.isUndoable
      if record.isOutstanding, !step.isUndoable {
        throw stop(throwing: different(stored: "\(key), with undo", code: key))
      }
      return JournalEnd(value: value, number: isOutstanding ? record.number : nil, isReplayed: true)
    }
  }

  private nonisolated(nonsending) func perform<Value>(
    _ step: JournalStep,
    _ key: String,
    _ index: Int?,
    _ values: DurableValues<Value>,
    isInDoubt: Bool,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> JournalEnd<Value> {
    state.withLock { state in
      if step.isUndoable, !state.log.begun.contains(key) { enqueue(.began(key), &state) }
    }
    // With the failures before it.
    try await flush()
    let value: Value
    do {
      value = try await body()
    } catch {
      // It stays in doubt, and the run unfinished, until it can be repeated.
      if isInDoubt {
        state.withLock { _ = $0.repeated.insert(key) }
        throw error
      }
      throw fail(error, step.name, key, index)
    }
    // Code that swallows the error of a stop has not done its work.
    try state.withLock { state throws in
      if Self.isPoisoned(key, state) { throw state.stopError ?? CancellationError() }
    }
    let stored: (bytes: [UInt8], copy: Value)
    do {
      stored = try values.stored(value)
      guard stored.bytes.count <= settings.maxValueSize else {
        throw DurableValueError(reason: "it has \(stored.bytes.count) bytes; the limit is \(settings.maxValueSize)")
      }
    } catch {
      let error = unstorable(step.name, DurableValueError.reason(error))
      guard step.isUndoable else { throw fail(error, step.name, key, index) }
      // It is undone with this value; after a crash, it is repeated first.
      let number = state.withLock { state in
        let number = nextNumber(&state)
        state.unstored[number] = key
        return number
      }
      return JournalEnd(value: value, number: number, error: error, isReplayed: false)
    }
    let number = state.withLock { state in
      let number = nextNumber(&state)
      enqueue(
        .completed(key, index: index, number: number, value: stored.bytes, isUndoable: step.isUndoable),
        &state
      )
      if index == nil { state.returning.insert(number) }
      return number
    }
    // In the order in which a replay returns them.
    defer { if index == nil { endTurn(of: number, key) } }
    try await flush()
    if index == nil { await waitForTurn(of: number) }
    return JournalEnd(value: stored.copy, number: step.isUndoable ? number : nil, isReplayed: false)
  }

  private func nextNumber(_ state: inout State) -> Int {
    state.lastNumber = max(state.lastNumber + 1, state.log.nextNumber)
    return state.lastNumber
  }

  /// A step has failed; returns the error that it throws, now and in each replay.
  private func fail(_ error: any Error, _ step: String, _ key: String, _ index: Int?) -> any Error {
    let stored = DurableFailures.stored(error, of: step)
    return state.withLock { state in
      if let error = state.stopError { return error }
      if Self.isStopped(state) {
        _ = poison(&state)
        return error
      }
      enqueue(.failed(key, index: index, number: nextNumber(&state), stored.failure), &state)
      return stored.replayed
    }
  }

  private static func adviceForType(_ type: Any.Type) -> String {
    "its type, \(type), is not Codable; return a struct or an enum that conforms to Codable"
  }

  // MARK: - Order

  /// How long a replayed step waits for those that completed before it, which changed code may never call.
  private static var patience: Duration { .seconds(10) }

  private static func isDue(_ number: Int, _ state: inout State) -> Bool {
    state.log.isNext(number) && state.returning.allSatisfy { $0 >= number }
  }

  /// Waits until the steps that completed before have been returned.
  private nonisolated(nonsending) func waitForTurn(of number: Int) async {
    let turn = state.withLock { state -> Once<Void>? in
      guard !Self.isDue(number, &state), state.stopError == nil else { return nil }
      let turn = Once<Void>()
      state.turns[number] = turn
      return turn
    }
    guard let turn else { return }
    let timer = spawn {
      if (try? await Task.sleep(for: Self.patience)) != nil { turn.settle(()) }
    }
    await turn.valueIgnoringCancellation()
    timer.cancel()
  }

  /// A step is returned, and the one that completed after it is next.
  private func endTurn(of number: Int, _ key: String) {
    let due = state.withLock { state -> Once<Void>? in
      state.log.replayed(key)
      state.returning.remove(number)
      guard let next = state.turns.keys.min(), Self.isDue(next, &state) else { return nil }
      return state.turns.removeValue(forKey: next)
    }
    guard let due else { return }
    // Code that receives the values of child tasks sees the order in which the tasks end, which takes a moment.
    _ = spawn {
      for _ in 0..<8 { await Task.yield() }
      due.settle(())
    }
  }

  // MARK: - Places

  func open(_ name: String) -> JournalPlace {
    let key = position.open(name)
    return JournalPlace(key, attempts: state.withLock { $0.log.attempts(at: key) })
  }

  nonisolated(nonsending) func inside<Value>(
    _ place: JournalPlace?,
    branch: Int?,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    let outer = position
    let scope: String
    var step = outer.step
    if let place {
      let attempt = branch == nil ? place.beginAttempt() : 1
      scope = DurableLog.scope(place.path, attempt: attempt, branch: branch)
      if attempt > 1 { endAttempt(attempt - 1, at: place.path) }
      step = place.path
    } else {
      scope = DurableLog.scope(outer.scope, attempt: 1, branch: branch)
      if step != nil { step = scope }
    }
    let position = DurablePosition(self, scope: scope, step: step)
    let result: Result<Value, any Error>
    do {
      result = .success(try await DurablePosition.$current.withValue(position) { try await body() })
    } catch {
      result = .failure(error)
    }
    if place != nil, let failure = state.withLock({ $0.log.failure(ofAttempt: scope) }), !isStopped {
      throw DurableFailures.error(failure, of: step ?? "")
    }
    if let missing = state.withLock({ Self.unreached(in: scope, $0) }) {
      throw stop(throwing: different(stored: missing, code: nil))
    }
    return try result.get()
  }

  /// A stored step that the code of a place has not called although nothing has interrupted it.
  private static func unreached(in scope: String, _ state: State) -> String? {
    isStopped(state) || state.cancellation != nil ? nil : state.log.unreached(in: scope)
  }

  func attemptFailed(_ place: JournalPlace, _ error: any Error) {
    let scope = DurableLog.scope(place.path, attempt: place.attemptCount, branch: nil)
    let failure = DurableFailures.stored(error, of: place.path).failure
    state.withLock { state in
      guard !Self.isStopped(state), state.log.hasOutstanding(in: place.path),
        state.log.failure(ofAttempt: scope) == nil
      else { return }
      enqueue(.attemptFailed(scope, failure), &state)
    }
  }

  /// Another attempt begins; what the last one stored is dropped, unless something there is still to be undone.
  private func endAttempt(_ attempt: Int, at key: String) {
    state.withLock { state in
      guard !Self.isStopped(state), state.log.hasRecords(in: key), !state.log.hasOutstanding(in: key),
        !state.log.isUnwinding
      else { return }
      enqueue(.attemptEnded(key, attempt: attempt), &state)
    }
  }

  nonisolated(nonsending) func group<Value>(
    _ place: JournalPlace,
    branch: Int?,
    limit: Duration?,
    _ body: nonisolated(nonsending) (Duration) async throws -> Value
  ) async throws -> Value {
    let key = DurableLog.scope(place.path, attempt: 1, branch: branch)
    let (record, hasOutstanding) = state.withLock { state in
      (state.log.record(at: key), state.log.hasOutstanding(in: place.path))
    }
    var stored: (any Error)?
    if case .failure(let failure)? = record?.end {
      let error = DurableFailures.error(failure, of: place.path)
      state.withLock { $0.log.replayed(key) }
      if !hasOutstanding { throw error }
      stored = error
    }
    let rest = limit.map { remaining(of: $0, at: key) } ?? .zero
    do {
      let value = try await inside(place, branch: branch) { try await body(rest) }
      if let stored { throw stored }
      return value
    } catch {
      try throwIfStopped()
      if let stored { throw stored }
      if state.withLock({ $0.log.isUnwinding }) { throw error }
      throw fail(error, place.path, key, nil)
    }
  }

  func decision(at place: JournalPlace) -> Int? { state.withLock { $0.log.decision(at: place.path) } }

  func store(decision branch: Int, at place: JournalPlace) async throws {
    let isNew = state.withLock { state in
      guard state.log.decision(at: place.path) == nil, !state.log.isUnwinding, !Self.isStopped(state) else {
        return false
      }
      enqueue(.decided(place.path, branch: branch), &state)
      return true
    }
    if isNew { try await flush() }
  }

  // MARK: - Time

  private var now: Int { Int(settings.now().timeIntervalSince1970 * 1_000) }

  /// What is left of a wait or a limit, whose end is stored when it begins.
  private func remaining(of duration: Duration, at key: String) -> Duration {
    let now = now
    let length = duration.clamped
    let end = state.withLock { state -> Int? in
      if let end = state.log.deadline(at: key) { return end }
      let milliseconds =
        Int(length.components.seconds) * 1_000 + Int(length.components.attoseconds / 1_000_000_000_000_000)
      enqueue(.deadline(key, now + milliseconds), &state)
      return nil
    }
    guard let end else { return length }
    return min(length, max(.zero, .milliseconds(end - now)))
  }

  nonisolated(nonsending) func sleep(_ duration: Duration, by clock: any Clock<Duration>, at step: String) async throws
  {
    let rest = remaining(of: duration, at: step)
    try await flush()
    if rest > .zero { try await clock.sleep(for: rest) }
  }

  // MARK: - Undos

  func willUndo(_ steps: [Int]) async {
    let isNew = state.withLock { state in
      guard !Self.isStopped(state) else { return false }
      let new = steps.filter {
        !state.log.isUndoing($0) && state.unstored[$0] == nil && state.log.key(ofNumber: $0) != nil
      }
      guard !new.isEmpty else { return false }
      enqueue(.undoing(new), &state)
      return true
    }
    // An error stops the run, and then nothing is undone.
    if isNew { try? await flush() }
  }

  nonisolated(nonsending) func undo(
    _ step: Int,
    _ body: nonisolated(nonsending) @Sendable () async throws -> Void
  ) async throws -> Bool {
    let key = state.withLock { state -> String? in
      guard !Self.isStopped(state) else { return nil }
      if let key = state.unstored[step] { return key }
      return state.log.isUndone(step) ? nil : state.log.key(ofNumber: step)
    }
    guard let key, !settings.isCheck else { return false }
    let position = DurablePosition(self, scope: key, step: key, isUndo: true)
    try await DurablePosition.$current.withValue(position) { try await body() }
    state.withLock { state in
      enqueue(state.unstored.removeValue(forKey: step) == nil ? .undone(step) : .settled(key), &state)
    }
    try? await flush()
    return true
  }

  // MARK: - Outcome

  func conclude(_ outcome: Outcome<any Sendable>) async -> Outcome<Void> {
    do {
      return try await concludeOrStop(outcome)
    } catch {
      return .failed(stop(throwing: error))
    }
  }

  private func concludeOrStop(_ outcome: Outcome<any Sendable>) async throws -> Outcome<Void> {
    var (hasBegun, isStopped, isResumed, stopError, missing) = state.withLock { state in
      (
        state.hasBegun, Self.isStopped(state), state.isResumed, state.stopError,
        state.isResumed ? state.log.unreachedUndo(except: state.repeated) : Self.unreached(in: "", state)
      )
    }
    if let stopError { throw stopError }
    guard hasBegun else {
      // It was not admitted, or its id is in use.
      if case .failed(let error) = outcome { throw error }
      stop()
      return outcome.map { _ in }
    }
    if case .cancelled = outcome, state.withLock({ $0.cancellation == nil }), !isResumed {
      stop()
      isStopped = true
    }
    if isStopped {
      guard case .resolved = outcome, state.withLock({ $0.poisoned.isEmpty }) else {
        // What has failed before is known, and need not be repeated.
        try await flush()
        return .cancelled(stopped(outcome))
      }
    }
    if let missing { throw different(stored: missing, code: nil) }
    if isResumed { return try await concludeAsStored() }
    let (event, replayed) = try conclusion(of: outcome)
    state.withLock { state in
      if case .concluded(.resolved) = event {} else { enqueue(.undoing(state.log.outstanding), &state) }
      enqueue(event, &state)
    }
    try await flush()
    return replayed
  }

  private func stopped(_ outcome: Outcome<any Sendable>) -> Cancellation {
    var reason: String?
    if case .cancelled(let cancellation) = outcome { reason = cancellation.reason }
    return Cancellation(reason: reason, underlyingError: CheckpointError.stopped(id: id, location: location))
  }

  private func conclusion(of outcome: Outcome<any Sendable>) throws -> (DurableEvent, Outcome<Void>) {
    var outcome = outcome
    if let cancellation = state.withLock({ $0.cancellation }) {
      switch outcome {
      case .failed(let error) where !(error is CancellationError):
        outcome = .cancelled(Cancellation(reason: cancellation.reason, underlyingError: error))
      // The request is stored, and says what a further process does.
      case .failed, .resolved: outcome = .cancelled(Cancellation(reason: cancellation.reason))
      case .cancelled: break
      }
    }
    switch outcome {
    case .resolved(let value):
      guard let values = DurableValues<Output>(), let output = value as? Output else {
        throw unstorable("its output", "\(type(of: value)) is not \(Output.self)")
      }
      do {
        return (.concluded(.resolved(try values.encode(output))), .resolved(()))
      } catch {
        throw unstorable("its output", DurableValueError.reason(error))
      }
    case .failed(let error):
      let stored = DurableFailures.stored(error, of: settings.name)
      return (.concluded(.failed(stored.failure)), .failed(stored.replayed))
    case .cancelled(let cancellation):
      let underlying = cancellation.underlyingError.map { DurableFailures.stored($0, of: settings.name) }
      let event = StoredOutcome.cancelled(reason: cancellation.reason, underlying: underlying?.failure)
      return (
        .concluded(event),
        .cancelled(Cancellation(reason: cancellation.reason, underlyingError: underlying?.replayed))
      )
    }
  }

  /// The outcome that an earlier run decided.
  private func concludeAsStored() async throws -> Outcome<Void> {
    let isNew = state.withLock { state in
      guard case .cancelling(let reason) = state.log.phase else { return false }
      enqueue(.undoing(state.log.outstanding), &state)
      enqueue(.concluded(.cancelled(reason: reason, underlying: nil)), &state)
      return true
    }
    if isNew { try await flush() }
    return try outcome(of: state.withLock { $0.log }).map { _ in }
  }

  func finish() async -> Bool {
    let final = state.withLock { state -> (DurableStart, [DurableEvent], UInt64, CheckpointLease)? in
      guard !Self.isStopped(state), state.log.isEnded, let lease = state.holder?.lease else { return nil }
      return (state.start, state.log.events, state.recordVersion, lease)
    }
    guard let (start, events, version, lease) = final, !settings.isCheck else { return false }
    // What follows frees space only: the outcome is stored.
    let record = DurableRecord.record(id: id, name: settings.name, start, version: version + 1, events)
    try? await store.save(record, ifVersionIs: version, under: lease)
    return true
  }
}

/// Ends a check of a stored run where the stored steps end.
struct DurableCheckEnd: Error {}
