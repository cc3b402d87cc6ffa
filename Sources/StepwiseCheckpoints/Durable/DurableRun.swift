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
    var maxValueSize = Int.max
    /// The wall-clock time.
    var now: @Sendable () -> Date = { Date() }
    /// Resumes only, and runs no body.
    var isCheck = false
    var host: DurableHost?
  }

  let settings: Settings
  let store: any CheckpointStore
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
  var now: Int { Int(settings.now().timeIntervalSince1970 * 1_000) }
  var version: Int { state.withLock { $0.start?.version ?? 0 } }

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
    throw stop(throwing: CheckpointError.lostLease(id: id, location: location))
  }

  /// Whether the code does nothing any more; a step in doubt that is repeated works as in any other run.
  var isUnwinding: Bool {
    let scope = DurablePosition.current.map { $0.run === self ? $0.scope : "" } ?? ""
    return state.withLock { $0.log.isUnwinding && !$0.log.isRepeated(scope) }
  }

  func stop() { proceeding { $0.isStopRequested = true } }

  var isStopped: Bool { state.withLock { $0.isStopped } }

  func poison(_ state: inout DurableState) -> CancellationError {
    state.poisoned.insert(position.scope)
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

  /// Whether the innermost run around the code is this one.
  var isCurrent: Bool { Scope.currentJournal === self }

  var inputs: DurableValues<any Sendable> { DurableValues(erasing: input) }
  var outputs: DurableValues<any Sendable> { DurableValues(erasing: output) }

  let ended = Once<Void>()
  private let input: any (Codable & Sendable).Type
  private let output: any (Codable & Sendable).Type
  private let rootPosition = Lock(DurablePosition?.none)
}

/// Ends a check of a stored run where the stored steps end.
struct DurableCheckEnd: Error {}
