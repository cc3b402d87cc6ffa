// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

extension Chain where Input: Codable, Output: Codable {
  /// Runs the chain under an id: after a crash you can call it again with the same id, and it continues.
  ///
  /// - Warning: A resumed run skips the bodies of completed steps, and with them every variable that they changed.
  ///   Return values from steps instead. The code between steps runs again, so it has to be deterministic.
  ///
  /// The input and the value of each step are stored before the next step begins. A further run with the same id runs
  /// the chain from the beginning. A stored step returns its value, or throws its error, without running its body. So a
  /// crash repeats at most the steps in progress. Their bodies have to tolerate that: pass
  /// ``CurrentStep/idempotencyKey`` to services that accept one.
  ///
  /// When the run fails, or is cancelled for good by `cancel(id:in:)` or its handle, that is stored before the first
  /// undo. Undos run newest first, and each is stored. If the process dies in between, `resume(id:in:)` runs the missing
  /// ones.
  ///
  /// Everything else that interrupts the run only stops it: its task, tokens, `cancelRuns`, its overlap policy, a lost
  /// lease, an error of the store, and changed code. Nothing is undone then, `finally` runs, and you can resume the id.
  ///
  /// A run that has ended returns its value or throws its error without running anything, until `store.remove(id)`.
  ///
  /// Chains without an input or an output have the same method, without the input or the value.
  ///
  /// - Parameters:
  ///   - input: The first step's input. If its type is `Equatable`, it has to equal that of earlier runs with the id.
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: The store for the values.
  ///   - version: A number of your code that is stored when the run begins; read it as ``CurrentRun/version``.
  ///   - maxValueSize: The limit for the encoded value of one step, in bytes.
  ///   - now: Returns the time, which ends waits and time limits that are stored.
  /// - Returns: The last step's output.
  /// - Throws: The error of a step: the same one if its type is `Codable`, otherwise a ``StepFailure``;
  ///   `CancellationError` when the run was cancelled or stopped; ``CheckpointError`` when another run holds the id, or
  ///   when a step cannot be stored or differs from the stored one; an error of the store.
  @discardableResult
  public nonisolated(nonsending) func run(
    _ input: Input,
    id: String,
    in store: some CheckpointStore,
    version: Int = 0,
    maxValueSize: Int = 16 * 1_024 * 1_024,
    now: @escaping @Sendable () -> Date = { Date() }
  ) async throws -> Output {
    let outer = DurablePosition.awaiting
    return try await run(with: durable(input, id, store, version, maxValueSize, now, inside: outer))
  }

  /// Starts an unstructured run that survives a crash, like `run(_:id:in:)`.
  ///
  /// `cancel(reason:)` of the handle cancels the run for good: the request is stored, then the run is
  /// interrupted and its completed steps are undone.
  ///
  /// - Parameters:
  ///   - input: The first step's input. If its type is `Equatable`, it has to equal that of earlier runs with the id.
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: The store for the values.
  ///   - version: A number of your code that is stored when the run begins; read it as ``CurrentRun/version``.
  ///   - maxValueSize: The limit for the encoded value of one step, in bytes.
  ///   - token: Stops this run; you can resume it.
  ///   - now: Returns the time, which ends waits and time limits that are stored.
  /// - Returns: The handle, through which to cancel, await and observe the run.
  @discardableResult
  public nonisolated func start(
    _ input: Input,
    id: String,
    in store: some CheckpointStore,
    version: Int = 0,
    maxValueSize: Int = 16 * 1_024 * 1_024,
    cancelledBy token: CancellationToken? = nil,
    now: @escaping @Sendable () -> Date = { Date() }
  ) -> Run<Output> {
    let run = durable(input, id, store, version, maxValueSize, now)
    return start(with: run, cancelledBy: token)
  }
}

extension Chain {
  /// Continues a run with its stored input; undoes what is still to be undone.
  ///
  /// - Parameters:
  ///   - id: The id of the run.
  ///   - store: The store that holds it.
  ///   - maxValueSize: The limit for the encoded value of one step, in bytes.
  ///   - now: Returns the time, which ends waits and time limits that are stored.
  /// - Returns: The last step's output.
  /// - Throws: ``CheckpointError/notStarted(id:location:)`` when the store holds no run with the id; otherwise what
  ///   `run(_:id:in:)` throws. A run that was cancelled throws `CancellationError` when everything is undone.
  ///   ``CheckpointError/unstorable(id:location:step:reason:)`` when the input or the output is neither `Codable` nor
  ///   `Void`.
  @discardableResult
  public nonisolated(nonsending) func resume(
    id: String,
    in store: some CheckpointStore,
    maxValueSize: Int = 16 * 1_024 * 1_024,
    now: @escaping @Sendable () -> Date = { Date() }
  ) async throws -> Output {
    try await run(with: durable(nil, id, store, 0, maxValueSize, now, inside: DurablePosition.awaiting))
  }

  /// Returns the ids of this chain's runs that have no outcome, or whose undos are not complete.
  ///
  /// Runs in progress are among them. The chain is known by its name or, without one, by that of its first step. Each
  /// record of the store is read; one that cannot be read is left out, and `resume(id:in:)` reports why. A run that no codec
  /// of the store decodes is among the ids, because it may have no outcome.
  ///
  /// - Parameter store: The store that holds the runs.
  /// - Returns: The ids, ordered by their UTF-8.
  /// - Throws: An error that prevents reading the store.
  @concurrent
  public nonisolated func unfinished(in store: some CheckpointStore) async throws -> [String] {
    var (ids, last): ([String], String?) = ([], nil)
    while true {
      let page = try await store.list(after: last, limit: 100)
      for id in page.ids {
        do {
          guard let record = try await store.load(id) else { continue }
          let stored = try DurableRecord(record, of: storedName, at: store.location(of: id))
          if !stored.log.isEnded { ids.append(id) }
        } catch CheckpointError.damaged, CheckpointError.foreignType, CheckpointError.newerFormat,
          CheckpointError.olderFormat
        {
          continue
        } catch CheckpointError.unknownCodec, CheckpointError.undecodable {
          let base = (store as? EncodedCheckpointStore)?.base ?? store
          if let record = try await base.load(id), DurableRecord.chain(of: record) == storedName { ids.append(id) }
        }
      }
      guard page.hasMore, let next = page.ids.last else { return ids }
      last = next
    }
  }

  /// Cancels a run for good, also one that no process is running.
  ///
  /// The request is stored when this method returns. A run in this process is then interrupted and undoes its completed
  /// steps. Otherwise `resume(id:in:)` undoes them.
  ///
  /// - Parameters:
  ///   - id: The id of the run.
  ///   - store: The store that holds it.
  ///   - reason: The reason, for handlers and outcomes.
  /// - Returns: A Boolean value that indicates whether this call cancelled the run: `false` when it already had an
  ///   outcome or was already cancelled.
  /// - Throws: ``CheckpointError/notStarted(id:location:)`` when the store holds no run with the id;
  ///   ``CheckpointError/held(id:location:processID:)`` while another process runs it; an error of the store.
  @concurrent @discardableResult
  public nonisolated func cancel(id: String, in store: some CheckpointStore, reason: String? = nil) async throws -> Bool
  {
    if let live = DurableRun.find(id, of: storedName, in: store) {
      if let isFirst = try await live.cancelAndStore(reason: reason) { return isFirst }
      await live.ended.valueIgnoringCancellation()
    }
    return try await store.append(.cancelled(reason: reason), to: id, of: storedName)
  }

  /// Gives up what could not be undone: the run counts as ended, and nothing more is undone.
  ///
  /// A run that has no outcome yet counts as cancelled.
  ///
  /// - Parameters:
  ///   - id: The id of the run.
  ///   - store: The store that holds it.
  /// - Returns: A Boolean value that indicates whether there was anything to give up.
  /// - Throws: ``CheckpointError/notStarted(id:location:)`` when the store holds no run with the id;
  ///   ``CheckpointError/held(id:location:processID:)`` while a run holds it; an error of the store.
  @concurrent @discardableResult
  public nonisolated func discard(id: String, in store: some CheckpointStore) async throws -> Bool {
    try await store.append(.abandoned, to: id, of: storedName)
  }

  /// Gives up what could not be undone.
  @available(*, deprecated, renamed: "discard(id:in:)")
  @concurrent @discardableResult
  public nonisolated func abandon(id: String, in store: some CheckpointStore) async throws -> Bool {
    try await discard(id: id, in: store)
  }

  /// Replays what a record holds of a run, without running a body or changing a store.
  ///
  /// - Parameter record: The record.
  /// - Returns: The error of a run that cannot be resumed; nil when all stored steps are reached.
  /// - Throws: An error of the store in memory.
  package nonisolated func replayError(_ record: CheckpointRecord) async throws -> CheckpointError? {
    let store = MemoryCheckpointStore()
    let lease = try await store.acquire(record.id)
    try await store.save(record, ifVersionIs: nil, under: lease)
    try await store.release(lease)
    let settings = DurableRun.Settings(name: storedName, id: record.id, isCheck: true)
    do {
      _ = try await run(with: DurableRun(of: Self.self, settings, in: store))
      return nil
    } catch let error as CheckpointError {
      return error
    } catch {
      // The stored steps have ended, or the run with them.
      return nil
    }
  }

  // MARK: - Implementation

  nonisolated func durable(
    _ input: Input?,
    _ id: String,
    _ store: some CheckpointStore,
    _ version: Int,
    _ maxValueSize: Int,
    _ now: @escaping @Sendable () -> Date,
    inside outer: DurableRun? = nil
  ) -> DurableRun {
    let settings = DurableRun.Settings(
      name: storedName,
      id: id,
      input: input,
      version: version,
      maxValueSize: maxValueSize,
      now: now,
      outer: outer
    )
    return DurableRun(of: Self.self, settings, in: store)
  }
}
