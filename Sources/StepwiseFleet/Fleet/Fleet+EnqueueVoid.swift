// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
  import StepwiseCheckpoints

  /// Chains without an input.
  extension Fleet {
    /// Enqueues a run of a chain without an input, unless the fleet has a job with the id.
    ///
    /// ```swift
    /// try await fleet.enqueue(cleanUp, id: "clean-up-2026-11-29")
    /// ```
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - id: The name of this piece of work: 1 to 200 bytes of UTF-8 without NUL.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and time.
    /// - Returns: A Boolean value that indicates whether the id was free.
    /// - Throws: ``FleetError`` when the id cannot be stored, or a job of another type has the id; ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<Output>(
      _ chain: Chain<Void, Output>,
      id: String,
      version: Int = 0,
      options: FleetOptions = FleetOptions()
    ) async throws -> Bool {
      try await enqueueOne(FleetBatch(chain, version, [(id: id, input: ())]), options: options)
    }

    /// Enqueues many runs of a chain without an input, except those whose ids the fleet has.
    ///
    /// At most 5,000 are one statement, which enqueues all of them or none.
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - ids: The ids.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and time of all of them.
    /// - Returns: The number of runs that were added.
    /// - Throws: ``FleetError`` when an id cannot be stored, or a job of another type has an id; then the others are
    ///   added. ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<Output>(
      _ chain: Chain<Void, Output>,
      ids: [String],
      version: Int = 0,
      options: FleetOptions = FleetOptions()
    ) async throws -> Int {
      var count = 0
      for slice in slices(ids.map { (id: $0, input: ()) }) {
        count += try await enqueue(FleetBatch(chain, version, slice), options: options)
      }
      return count
    }

    /// Enqueues runs of a chain without an input in a transaction of the caller's, except those whose ids the fleet has.
    ///
    /// The runs exist once that transaction commits. The tables must exist: any other operation creates them.
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - ids: The ids.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and time of all of them.
    ///   - execute: Runs a statement in the transaction, with its parameters bound as text; once for each 5,000 runs.
    /// - Throws: ``FleetError`` when an id cannot be stored; what the closure throws.
    public nonisolated(nonsending) func enqueue<Output>(
      _ chain: Chain<Void, Output>,
      ids: [String],
      version: Int = 0,
      options: FleetOptions = FleetOptions(),
      through execute: (FleetStatement) async throws -> Void
    ) async throws {
      for slice in slices(ids.map { (id: $0, input: ()) }) {
        try await execute(statement(for: FleetBatch(chain, version, slice), options))
      }
    }
  }
#endif
