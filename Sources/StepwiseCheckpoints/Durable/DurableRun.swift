// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// One run of a durable chain in this process: what the engine calls to store steps and to replay them.
// Not generic in the types of its chain: each use in a step would look up generic metadata.
final class DurableRun: RunJournal {
  /// What a run is started with.
  struct Settings: Sendable {
    let name: String
    let id: String
    /// Nil to resume with the stored one.
    var input: (any Sendable)?
    var version = 0
    var maxValueSize = 16 * 1_024 * 1_024
    /// The wall-clock time.
    var now: @Sendable () -> Date = { Date() }
    /// Resumes only, and runs no body.
    var isCheck = false
    var host: (any DurableHost)?
    /// The run whose step or code awaits this one; nil outside of durable runs.
    var outer: DurableRun?
  }

  let settings: Settings
  let store: any CheckpointStore
  let patience = Patience.current
  let state = Lock(DurableState())

  init<Input: Codable & Sendable, Output: Codable & Sendable>(
    of chain: Chain<Input, Output>.Type,
    _ settings: Settings,
    in store: any CheckpointStore
  ) {
    self.settings = settings
    self.store = store
    (input, output) = (Input.self, Output.self)
  }

  var id: String { settings.id }
  var location: String { store.location(of: id) }
  var identity: String { state.withLock { $0.start?.identity ?? "" } }
  /// The time in milliseconds since 1970.
  // Clamped, as no sum with a century must overflow.
  var now: Int { Int(max(-1e15, min(settings.now().timeIntervalSince1970 * 1_000, 1e15))) }
  var version: Int { state.withLock { $0.start?.version ?? 0 } }

  // MARK: - Executors

  /// Where bodies run, if the code around a step chooses an executor.
  @TaskLocal private static var chosen: (any TaskExecutor)?

  var codeExecutor: any TaskExecutor { executor ?? globalConcurrentExecutor }
  var bodyExecutor: any TaskExecutor { Self.chosen ?? executor?.outer ?? globalConcurrentExecutor }

  nonisolated(nonsending) func withBodies<Value>(
    on executor: any TaskExecutor,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    try await Self.$chosen.bind(executor, body)
  }

  /// Runs work outside of the executor of the run, which the caller returns to with its next switch.
  nonisolated(nonsending) func outside<Value>(
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    position.isBody ? try await body() : try await onExecutorUnlessIsolated(bodyExecutor, body)
  }

  var executor: DurableExecutor? { state.withLock { $0.executor } }

  /// Changes the state, and lets continue what need not wait any longer.
  func proceeding<Value>(_ change: (inout DurableState) -> Value) -> Value {
    let (value, due) = state.withLock { (change(&$0), $0.takeDue()) }
    for turn in due { turn.settle(()) }
    executor?.notify()
    return value
  }

  // MARK: - Errors

  func unstorable(_ step: String, _ reason: String) -> CheckpointError {
    .unstorable(id: id, location: location, step: step, reason: reason)
  }

  func unknown(_ what: String, _ error: any Error) -> CheckpointError {
    let reason = "\(what): \(StoredReason.text(error))"
    return .unknownShape(id: id, location: location, schemaVersion: version, reason: reason)
  }

  func different(stored: String, code: String?) -> CheckpointError {
    .differentSteps(id: id, location: location, stored: stored, found: code)
  }

  /// Stops the run for an error that says nothing about its work.
  ///
  /// - Returns: The error that stops it, which is the first one.
  @discardableResult
  func stop(throwing error: any Error) -> any Error {
    let (first, isNew, interrupt) = proceeding { state in
      let first = state.stopError
      state.stopError = first ?? error
      return (first ?? error, first == nil, state.interrupt)
    }
    if isNew { interrupt?(nil) }
    return first
  }

  /// - Throws: The error that stops the run when its lease is over, which a process that was suspended notices last.
  func checkLease() throws {
    let holder = state.withLock { $0.holder }
    guard holder?.isOver ?? false else { return }
    throw stop(throwing: store.lostLease(of: id))
  }

  /// Whether the code does nothing any more; a step in doubt that is repeated works as in any other run.
  var isUnwinding: Bool {
    let scope = currentPosition?.scope ?? ""
    return state.withLock { $0.log.isUnwinding && !$0.log.isRepeated(scope) }
  }

  func stop() { proceeding { $0.isStopRequested = true } }

  var isStopped: Bool { state.withLock { $0.isStopped } }

  func poison(_ state: inout DurableState) -> CancellationError {
    state.poisoned.insert(currentPosition?.scope ?? "")
    return CancellationError()
  }

  func throwIfStopped() throws {
    try state.withLock { state throws in
      if let error = state.stopError { throw error }
      if state.isStopped { throw poison(&state) }
    }
  }

  // MARK: - Position

  var position: DurablePosition {
    currentPosition ?? DurablePosition(self, scope: "", step: nil, at: state.withLock { $0.place })
  }

  /// Nil outside of steps.
  private var currentPosition: DurablePosition? {
    DurablePosition.current.flatMap { $0.run === self ? $0 : nil }
  }

  /// Whether the innermost run around the code is this one.
  var isCurrent: Bool { Scope.currentJournal === self }

  var inputs: DurableValues<any Sendable> { DurableValues(erasing: input) }
  var outputs: DurableValues<any Sendable> { DurableValues(erasing: output) }

  /// Settled when the run has released its lease.
  let ended = Once<Void>()
  private let input: any (Codable & Sendable).Type
  private let output: any (Codable & Sendable).Type
}

/// Ends a check of a stored run where the stored steps end.
struct DurableCheckEnd: Error {}

/// The state of a durable run in this process, behind its lock.
struct DurableState: Sendable {
  var log = DurableLog()
  /// Nil until the run begins.
  var start: DurableStart?
  /// Of the code between steps; nil until the run begins.
  var executor: DurableExecutor?
  var holder: LeaseHolder?
  /// The version of the stored record.
  var recordVersion: UInt64 = 0
  /// What is still to be stored.
  var queue: [DurableEvent] = []
  var queuedCount = 0
  var storedCount = 0
  var isWriting = false
  /// Settled when what is being stored is; nil while no one waits for that.
  var written: Once<Void>?
  /// Those that wait until what completed before has been returned.
  var turns: [Turn] = []
  /// The places whose code runs, and how many times.
  var open: [String: Int] = [:]
  /// How often code on the executor has had its turn.
  var turnCount = 0
  /// Whether a timer measures how long the code waits for what does not come.
  var isWaitingForCode = false
  /// Steps that have ended and have not been returned.
  var returning: Set<Int> = []
  /// The places whose time was over before this process began.
  var expired: Set<String> = []
  /// Steps whose values are not stored, by the numbers of their undos.
  var unstored: [Int: Unstored] = [:]
  /// Of these, the numbers and keys of the ends that the code has seen before.
  var undoneFirst: [Int: (number: Int, key: String)] = [:]
  var lastNumber = 0
  /// Why the run stops, if it was not cancelled.
  var stopError: (any Error)?
  var isStopRequested = false
  /// The scopes in which a step has thrown because the run stops, so that what their code returns means nothing.
  var poisoned: Set<String> = []
  /// Where the run's own task calls steps, which nothing but a stop cancels.
  var place = DurablePosition.Place()
  /// Whether an earlier process has decided the outcome, or that the run is cancelled.
  var isResumed = false
  var cancellation: Cancellation?
  var interrupt: (@Sendable (String?) -> Void)?
  var cancelling: Task<Void, Never>?
  var waits = DurableWaits()
  /// Whether the run has released its lease.
  var hasEnded = false

  /// What waits until everything that completed before a number has been replayed; nil for everything.
  struct Turn: Sendable {
    let number: Int?
    /// The step or the place that waits.
    let key: String
    /// Whether it waits for what is inside the place only.
    var isPlace = false
    /// Whether it waits in the body of a step, and not on the executor of the run.
    let isInner: Bool
    /// Whether a step waits that has no stored end.
    var isNew = false
    let once = Once<Void>()
  }

  /// A step whose value is not stored.
  struct Unstored: Sendable {
    let key: String
    let index: Int?
    /// What is stored of the step; nil when nothing is stored any more.
    let failure: StoredFailure?
  }

  var hasBegun: Bool { start != nil }

  var isStopped: Bool {
    if stopError != nil { return true }
    if case .concluded(.resolved) = log.phase { return false }
    return isStopRequested
  }

  /// Whether a step within another one has thrown because the run stops.
  func isPoisoned(_ key: String) -> Bool { poisoned.contains { DurableWaits.isInside($0, key) } }

  /// A stored step that the code of a place has not called although nothing has interrupted it.
  func unreached(in scope: String) -> String? {
    isStopped || cancellation != nil ? nil : log.unreached(in: scope)
  }

  /// The number of the end of a step: that of a stored one, because what was stored later may follow from it.
  mutating func number(of key: String) -> Int {
    log.records[key]?.number ?? nextNumber()
  }

  mutating func nextNumber() -> Int {
    lastNumber = max(lastNumber, log.lastNumber) + 1
    return lastNumber
  }

  // MARK: - Turns

  mutating func isDue(_ turn: Turn) -> Bool {
    if isStopped { return true }
    if turn.isPlace { return log.isReplayed(in: turn.key) }
    let outer = log.repetition(around: turn.key)
    let isBlocked = returning.contains { before in
      guard turn.number.map({ before < $0 }) ?? true else { return false }
      // Those around a step in doubt wait for it.
      guard let outer else { return true }
      return log.keys[before].map { DurableLog.contains(outer, $0) } ?? false
    }
    return !isBlocked && log.isNext(turn.number, at: turn.key)
  }

  /// A step that the code waits for in the place of a stored one; nil when the code of that place waits for something else.
  func stepInstead(of stored: String) -> String? {
    var place = DurableLog.scope(of: stored)
    while !place.isEmpty, open[place] == nil { place = DurableLog.scope(of: DurableLog.key(of: place)) }
    return turns.first { !$0.isInner && (place.isEmpty || DurableLog.contains(place, $0.key)) }?.key
  }

  /// Removes the first of those on the executor that need not wait any longer.
  mutating func takeNext() -> Once<Void>? {
    var next: (index: Int, number: Int)?
    for (index, turn) in turns.enumerated() where !turn.isInner {
      let number = turn.number ?? .max
      if next.map({ number < $0.number }) ?? true, isDue(turn) { next = (index, number) }
    }
    guard let next else { return nil }
    turnCount += 1
    return turns.remove(at: next.index).once
  }

  /// Removes what need not wait any longer in the bodies of steps.
  mutating func takeDue() -> [Once<Void>] {
    guard turns.contains(where: \.isInner) else { return [] }
    var due: [Once<Void>] = []
    for turn in exchange(&turns, with: []).sorted(by: { $0.number ?? .max < $1.number ?? .max }) {
      if turn.isInner, isDue(turn) {
        due.append(turn.once)
      } else {
        turns.append(turn)
      }
    }
    return due
  }
}
