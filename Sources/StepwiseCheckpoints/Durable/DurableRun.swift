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
    var host: DurableHost?
  }

  struct State: Sendable {
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
    /// Those that wait until what completed before has been replayed.
    var turns: [Turn] = []
    /// Steps of child tasks that have completed and are being stored.
    var returning: Set<Int> = []
    /// The places whose time was over before this process began.
    var expired: Set<String> = []
    /// Steps whose values are not stored, by the numbers of their undos.
    var unstored: [Int: Unstored] = [:]
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
    var waits = DurableWaits()
    /// Whether the run has released its lease.
    var hasEnded = false
  }

  /// What waits until everything that completed before a number has been replayed; nil for everything.
  struct Turn: Sendable {
    let number: Int?
    /// The step or the place that waits.
    let key: String
    /// Whether it waits for what is inside the place only.
    var isPlace = false
    let once = Once<Void>()
  }

  /// A step whose value is not stored.
  struct Unstored: Sendable {
    let key: String
    let index: Int?
    /// What is stored of the step; nil when nothing is stored any more.
    let failure: StoredFailure?
  }

  let settings: Settings
  let store: any CheckpointStore
  let state = Lock(State())

  init(_ settings: Settings, in store: any CheckpointStore) {
    self.settings = settings
    self.store = store
  }

  var id: String { settings.id }
  var location: String { store.location(of: id) }
  var identity: String { state.withLock { $0.start.identity } }
  var version: Int { state.withLock { $0.start.version } }

  // MARK: - Errors

  func unstorable(_ step: String, _ reason: String) -> CheckpointError {
    .unstorable(id: id, location: location, step: step, reason: reason)
  }

  func unknown(_ what: String, _ error: any Error) -> CheckpointError {
    let reason = "\(what): \(DurableValueError.reason(error))"
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
    let (first, isNew, interrupt, turns) = state.withLock { state in
      let isNew = state.stopError == nil
      let first = state.stopError ?? error
      state.stopError = first
      defer { state.turns = [] }
      return (first, isNew, state.interrupt, state.turns)
    }
    for turn in turns { turn.once.settle(()) }
    if isNew { interrupt?(nil) }
    return first
  }

  /// - Throws: The error that stops the run when its lease is over, which a process that was suspended notices last.
  func checkLease() throws {
    let holder = state.withLock { $0.holder }
    guard holder?.isOver ?? false else { return }
    throw stop(throwing: CheckpointError.lostLease(id: id, location: location))
  }

  /// Whether the code does nothing any more; a step in doubt that is repeated works as in any other run.
  var isUnwinding: Bool {
    let scope = DurablePosition.current.map { $0.run === self ? $0.scope : "" } ?? ""
    return state.withLock { $0.log.isUnwinding && !$0.log.isRepeated(scope) }
  }

  func stop() {
    let turns = state.withLock { state in
      state.isStopRequested = true
      defer { state.turns = [] }
      return state.turns
    }
    for turn in turns { turn.once.settle(()) }
  }

  var isStopped: Bool { state.withLock { Self.isStopped($0) } }

  static func isStopped(_ state: State) -> Bool {
    if state.stopError != nil { return true }
    if case .concluded(.resolved) = state.log.phase { return false }
    return state.isStopRequested
  }

  func poison(_ state: inout State) -> CancellationError {
    state.poisoned.insert(position.scope)
    return CancellationError()
  }

  /// Whether a step within another one has thrown because the run stops.
  static func isPoisoned(_ key: String, _ state: State) -> Bool {
    state.poisoned.contains { DurableWaits.isInside($0, key) }
  }

  func throwIfStopped() throws {
    try state.withLock { state throws in
      if let error = state.stopError { throw error }
      if Self.isStopped(state) { throw poison(&state) }
    }
  }

  // MARK: - Position

  var position: DurablePosition {
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

  let ended = Once<Void>()
  private let rootPosition = Lock(DurablePosition?.none)
}

/// Ends a check of a stored run where the stored steps end.
struct DurableCheckEnd: Error {}
