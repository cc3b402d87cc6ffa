// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

// `Void` conforms to no protocol, so each combination has its own extension.

extension Chain where Input == Void, Output: Codable {
  /// Runs a chain without an input under an id, like `run(_:id:in:)`.
  ///
  /// ```swift
  /// let report = try await nightly.run(id: "nightly-2026-11-29", in: store)
  /// ```
  ///
  /// - Parameters:
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: The store for the values.
  ///   - version: A number of your code that is stored when the run begins; read it as ``CurrentRun/version``.
  ///   - maxValueSize: The limit for the encoded value of one step, in bytes.
  ///   - now: Returns the time, which ends waits and time limits that are stored.
  /// - Returns: The last step's output.
  /// - Throws: The error of a step; `CancellationError`; ``CheckpointError``; an error of the store.
  @discardableResult
  public nonisolated(nonsending) func run(
    id: String,
    in store: some CheckpointStore,
    version: Int = 0,
    maxValueSize: Int = 16 * 1_024 * 1_024,
    now: @escaping @Sendable () -> Date = { Date() }
  ) async throws -> Output {
    let outer = DurablePosition.awaiting
    return try await run(with: durable((), id, store, version, maxValueSize, now, inside: outer))
  }

  /// Starts an unstructured run of a chain without an input that survives a crash, like `start(_:id:in:)`.
  ///
  /// - Parameters:
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: The store for the values.
  ///   - version: A number of your code that is stored when the run begins; read it as ``CurrentRun/version``.
  ///   - maxValueSize: The limit for the encoded value of one step, in bytes.
  ///   - token: Stops this run; you can resume it.
  ///   - now: Returns the time, which ends waits and time limits that are stored.
  /// - Returns: The handle, through which to cancel, await and observe the run.
  @discardableResult
  public nonisolated func start(
    id: String,
    in store: some CheckpointStore,
    version: Int = 0,
    maxValueSize: Int = 16 * 1_024 * 1_024,
    cancelledBy token: CancellationToken? = nil,
    now: @escaping @Sendable () -> Date = { Date() }
  ) -> Run<Output> {
    start(with: durable((), id, store, version, maxValueSize, now), cancelledBy: token)
  }
}

extension Chain where Input: Codable, Output == Void {
  /// Runs a chain without an output under an id, like `run(_:id:in:)`.
  ///
  /// ```swift
  /// try await ship.run(parcel, id: "ship-7", in: store)
  /// ```
  ///
  /// - Parameters:
  ///   - input: The first step's input. If its type is `Equatable`, it has to equal that of earlier runs with the id.
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: The store for the values.
  ///   - version: A number of your code that is stored when the run begins; read it as ``CurrentRun/version``.
  ///   - maxValueSize: The limit for the encoded value of one step, in bytes.
  ///   - now: Returns the time, which ends waits and time limits that are stored.
  /// - Throws: The error of a step; `CancellationError`; ``CheckpointError``; an error of the store.
  public nonisolated(nonsending) func run(
    _ input: Input,
    id: String,
    in store: some CheckpointStore,
    version: Int = 0,
    maxValueSize: Int = 16 * 1_024 * 1_024,
    now: @escaping @Sendable () -> Date = { Date() }
  ) async throws {
    let outer = DurablePosition.awaiting
    try await run(with: durable(input, id, store, version, maxValueSize, now, inside: outer))
  }

  /// Starts an unstructured run of a chain without an output that survives a crash, like `start(_:id:in:)`.
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
    start(with: durable(input, id, store, version, maxValueSize, now), cancelledBy: token)
  }
}

extension Chain where Input == Void, Output == Void {
  /// Runs a chain without an input and an output under an id, like `run(_:id:in:)`.
  ///
  /// ```swift
  /// try await cleanUp.run(id: "clean-up-2026-11-29", in: store)
  /// ```
  ///
  /// - Parameters:
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: The store for the values.
  ///   - version: A number of your code that is stored when the run begins; read it as ``CurrentRun/version``.
  ///   - maxValueSize: The limit for the encoded value of one step, in bytes.
  ///   - now: Returns the time, which ends waits and time limits that are stored.
  /// - Throws: The error of a step; `CancellationError`; ``CheckpointError``; an error of the store.
  public nonisolated(nonsending) func run(
    id: String,
    in store: some CheckpointStore,
    version: Int = 0,
    maxValueSize: Int = 16 * 1_024 * 1_024,
    now: @escaping @Sendable () -> Date = { Date() }
  ) async throws {
    let outer = DurablePosition.awaiting
    try await run(with: durable((), id, store, version, maxValueSize, now, inside: outer))
  }

  /// Starts an unstructured run of a chain without an input and an output that survives a crash, like `start(_:id:in:)`.
  ///
  /// - Parameters:
  ///   - id: The name of this piece of work: any Unicode text of 1 to 200 bytes.
  ///   - store: The store for the values.
  ///   - version: A number of your code that is stored when the run begins; read it as ``CurrentRun/version``.
  ///   - maxValueSize: The limit for the encoded value of one step, in bytes.
  ///   - token: Stops this run; you can resume it.
  ///   - now: Returns the time, which ends waits and time limits that are stored.
  /// - Returns: The handle, through which to cancel, await and observe the run.
  @discardableResult
  public nonisolated func start(
    id: String,
    in store: some CheckpointStore,
    version: Int = 0,
    maxValueSize: Int = 16 * 1_024 * 1_024,
    cancelledBy token: CancellationToken? = nil,
    now: @escaping @Sendable () -> Date = { Date() }
  ) -> Run<Output> {
    start(with: durable((), id, store, version, maxValueSize, now), cancelledBy: token)
  }
}
