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

  init<Input, Output>(of chain: Chain<Input, Output>.Type, _ settings: Settings, in store: any CheckpointStore) {
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

  var bodyExecutor: any TaskExecutor { BodyExecutor.chosen ?? executor?.outer ?? globalConcurrentExecutor }

  /// Runs work outside of the executor of the run, which the caller returns to with its next switch.
  nonisolated(nonsending) func onBodyExecutor<Value>(
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    position.isBody ? try await body() : try await onExecutorUnlessIsolated(bodyExecutor, body)
  }

  var executor: DurableExecutor? { state.withLock { $0.executor } }

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
    let (first, isNew, interrupt) = state.withLock { state in
      let first = state.stopError
      state.stopError = first ?? error
      return (first ?? error, first == nil, state.interrupt)
    }
    releaseAll()
    if isNew { interrupt?(nil) }
    return first
  }

  /// - Throws: The error that stops the run when its lease is over, which a process that was suspended notices last.
  func checkLease() throws {
    let holder = state.withLock { $0.holder }
    guard holder?.isOver ?? false else { return }
    throw stop(throwing: store.lostLease(of: id))
  }

  func stop(_ reach: JournalStop) {
    switch reach {
    case .run: stop()
    case .chain:
      // The step that awaits this run has not failed: it is performed again when the outer run is resumed.
      settings.outer?.stop(throwing: CheckpointError.stopped(id: id, location: location))
      stop()
    case .part:
      // What a cancellation for good or another stop brings about is no path of the code.
      let interrupt = state.withLock { state in
        state.isStopped || state.cancellation != nil || state.log.phase != .running ? nil : state.interrupt
      }
      guard let interrupt else { return }
      stop()
      interrupt(nil)
    }
  }

  func stop() {
    state.withLock { ($0.isStopRequested, $0.isInterrupted) = (true, true) }
    releaseAll()
  }

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

  /// Throws in the place of code that a stop has interrupted: however it has noticed that, what it makes of it means nothing.
  func throwIfInterrupted() throws {
    noteCancellation()
    try state.withLock { state throws in
      if state.isInterrupted, state.isStopped { throw poison(&state) }
    }
  }

  /// Notes a cancellation of the run's own task by its code, which the run itself does not notice.
  func noteCancellation() {
    guard Task.isCancelled else { return }
    let isStopped = state.withLock { state in
      !state.isStopRequested && state.log.phase == .running && DurablePosition.taskIdentity == state.taskIdentity
    }
    if isStopped { stop() }
  }

  // MARK: - Position

  var position: DurablePosition {
    currentPosition ?? root
  }

  private var currentPosition: DurablePosition? {
    DurablePosition.current.flatMap { $0.run === self ? $0 : nil }
  }

  /// Where the run's own task begins.
  private var root: DurablePosition {
    state.withLock { state in
      let root = state.root ?? DurablePosition(self, scope: "", step: nil)
      if !state.hasEnded { state.root = root }
      return root
    }
  }

  /// Whether the innermost run around the code is this one.
  var isCurrent: Bool { Scope.currentJournal === self }

  var inputs: DurableValues<any Sendable> { get throws { try values(of: input, "its input") } }
  var outputs: DurableValues<any Sendable> { get throws { try values(of: output, "its output") } }

  private func values(of type: any Sendable.Type, _ what: String) throws -> DurableValues<any Sendable> {
    guard let values = DurableValues<any Sendable>(erasing: type) else {
      throw unstorable(what, DurableValues<any Sendable>.refusal(of: type))
    }
    return values
  }

  /// Settled when the run has released its lease.
  let ended = Once<Void>()
  private let input: any Sendable.Type
  private let output: any Sendable.Type
}

/// Ends a check of a stored run where the stored steps end.
struct DurableCheckEnd: Error {}
