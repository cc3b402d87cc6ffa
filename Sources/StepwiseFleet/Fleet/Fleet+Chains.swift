// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
  import StepwiseCheckpoints

  extension Fleet {
    /// Lets the workers of this process run a chain, under its name.
    ///
    /// A run on a fleet is a durable run: the value of each step is stored before the next step begins, and another
    /// worker continues when one dies, with the undos as well. Give the chain a name, because workers find it by the
    /// name. Register before ``work(until:onEvent:)``.
    ///
    /// A step that fails ends the run, and completed steps are undone; use `retry` in the chain for further attempts.
    ///
    /// - Parameters:
    ///   - chain: The chain.
    ///   - version: The highest version of runs that this code knows; workers claim no run of a higher one.
    ///   - retry: How often a run is continued after an undo that failed, changed code, or the death of its worker,
    ///     without a further step having ended.
    ///   - limits: How many runs of the chain run and start at once, over the whole fleet.
    public func register<Input: Codable & Sendable, Output: Codable & Sendable>(
      _ chain: Chain<Input, Output>,
      version: Int = 0,
      retry: RetryPolicy = RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .seconds(1), cap: .seconds(600))),
      limits: FleetLimits = .none
    ) {
      let registration = FleetRegistration(chain, version: version, retry: retry, limits: limits)
      registrations.withLock { $0[registration.name] = registration }
    }

    /// Enqueues a run of a chain, unless the fleet has a job with the id.
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - input: The first step's input.
    ///   - id: The name of this piece of work: 1 to 200 bytes of UTF-8 without NUL.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and time.
    /// - Returns: A Boolean value that indicates whether the id was free.
    /// - Throws: ``FleetError`` when the id or the input cannot be stored; ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<Input: Codable & Sendable, Output: Codable & Sendable>(
      _ chain: Chain<Input, Output>,
      _ input: Input,
      id: String,
      version: Int = 0,
      options: FleetOptions = FleetOptions()
    ) async throws -> Bool {
      try await enqueueOne(FleetBatch(chain, version, [(id: id, input: input)]), options: options)
    }

    /// Enqueues many runs of a chain, except those whose ids the fleet has.
    ///
    /// At most 5,000 are one statement, which enqueues all of them or none.
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - inputs: The ids and the first step's inputs.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and time of all of them.
    /// - Returns: The number of runs that were added.
    /// - Throws: ``FleetError`` when an id or an input cannot be stored; ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<Input: Codable & Sendable, Output: Codable & Sendable>(
      _ chain: Chain<Input, Output>,
      _ inputs: [(id: String, input: Input)],
      version: Int = 0,
      options: FleetOptions = FleetOptions()
    ) async throws -> Int {
      var count = 0
      for slice in slices(inputs) { count += try await enqueue(FleetBatch(chain, version, slice), options: options) }
      return count
    }

    /// Enqueues runs of a chain in a transaction of the caller's, except those whose ids the fleet has.
    ///
    /// The runs exist once that transaction commits. The tables must exist: any other operation creates them.
    ///
    /// - Parameters:
    ///   - chain: The chain; only its name is stored.
    ///   - inputs: The ids and the first step's inputs.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and time of all of them.
    ///   - execute: Runs a statement in the transaction, with its parameters bound as text; once for each 5,000 runs.
    /// - Throws: ``FleetError`` when an id or an input cannot be stored; what the closure throws.
    public nonisolated(nonsending) func enqueue<Input: Codable & Sendable, Output: Codable & Sendable>(
      _ chain: Chain<Input, Output>,
      _ inputs: [(id: String, input: Input)],
      version: Int = 0,
      options: FleetOptions = FleetOptions(),
      through execute: (FleetStatement) async throws -> Void
    ) async throws {
      try database.schema.check()
      for slice in slices(inputs) { try await execute(statement(for: FleetBatch(chain, version, slice), options)) }
    }

    /// Waits for the output of a chain, wherever it runs.
    ///
    /// Cancelling the calling Task ends the wait and not the run.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - chain: The chain that was enqueued.
    /// - Returns: The last step's output.
    /// - Throws: The error of the step that failed the run, once its undos are complete: the same one if its type is
    ///   `Codable`, otherwise a `StepFailure`. ``FleetError`` when the run was cancelled, is dead-lettered or does not
    ///   exist; ``PostgresError``; `CancellationError`.
    @concurrent public func result<Input: Codable & Sendable, Output: Codable & Sendable>(
      of id: String,
      as chain: Chain<Input, Output>
    ) async throws -> Output {
      let name = chain.hostedName
      let (status, outcome) = try await end(of: id, name: name)
      var failure: (any Error)?
      do {
        if let text = outcome.text(1) {
          if status.state == .done { return try chain.hostedOutput(text) }
          if status.state == .failed { failure = try StoredOutcome.error(text, of: name) }
        }
      } catch {
        throw FleetError.unknownShape(id: id, reason: "its outcome cannot be read: \(error)")
      }
      if let failure { throw failure }
      try check(status)
      throw FleetError.notFound(id: id)
    }
  }
#endif
