// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
  import StepwiseCheckpoints

  extension Fleet {
    /// Waits for the result of a job, wherever it runs.
    ///
    /// Cancelling the calling Task ends the wait and not the job.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - type: The progression type that was enqueued.
    /// - Returns: The result of the last stage.
    /// - Throws: ``FleetError`` when the job failed, was cancelled or does not exist; ``PostgresError``;
    ///   `CancellationError`.
    @concurrent public func result<P: Progression & Codable>(of id: String, as type: P.Type) async throws -> P.Result {
      let coder = StageCoder<P>()
      let (status, end) = try await end(of: id, name: coder.name)
      try check(status)
      let stage = try coder.decode(end.stage ?? end.first, shape: end.shape, of: id, by: payloads)
      guard let result = stage.result else {
        throw FleetError.unknownShape(id: id, reason: "the last stage has no result in this program")
      }
      return result
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
    @concurrent public func result<Input, Output: Codable & Sendable>(
      of id: String,
      as chain: Chain<Input, Output>
    ) async throws -> Output {
      try await output(of: id, chain.hostedName, DurableValues(Output.self))
    }

    /// Waits until a chain without an output is done, wherever it runs.
    ///
    /// Cancelling the calling Task ends the wait and not the run.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - chain: The chain that was enqueued.
    /// - Throws: The error of the step that failed the run, once its undos are complete: the same one if its type is
    ///   `Codable`, otherwise a `StepFailure`. ``FleetError`` when the run was cancelled, is dead-lettered or does not
    ///   exist; ``PostgresError``; `CancellationError`.
    @concurrent public func result<Input>(of id: String, as chain: Chain<Input, Void>) async throws {
      try await output(of: id, chain.hostedName, DurableValues(Void.self))
    }

    private func output<Output>(of id: String, _ name: String, _ values: DurableValues<Output>) async throws -> Output {
      let (status, stored) = try await end(of: id, name: name)
      var end = JobEnd(id: id, state: status.state.description)
      end.stage = try stored.stage.map { try payloads.decode($0, of: id) }
      (end.error, end.reason) = (status.error, status.cancellationReason)
      return try end.output(of: name, values)
    }

    /// Waits for the end of a job; returns its state, its last shape, its last stage and its first one.
    func end(of id: String, name: String) async throws -> (FleetStatus, (shape: Int, stage: String?, first: String)) {
      try await observe(id, name) { status in
        guard status.state.isFinal else { return nil }
        guard let end = try await store.end(of: id) else { throw FleetError.notFound(id: id) }
        return (status, end)
      }
    }

    /// Looks at a job again and again, at the latest 5 seconds after the last time, until the body returns a value.
    private func observe<Value>(
      _ id: String,
      _ name: String,
      _ body: (FleetStatus) async throws -> Value?
    ) async throws -> Value {
      var delay = Duration.milliseconds(250)
      let news = hub.news(of: id)
      while true {
        try Task.checkCancellation()
        guard let status = try await watch(id) else { throw FleetError.notFound(id: id) }
        guard status.progression == name else {
          throw FleetError.foreignType(id: id, stored: status.progression, expected: name)
        }
        if let value = try await body(status) { return value }
        await news(store.clock.polling(delay))
        delay = min(delay * 2, .seconds(5))
      }
    }

    /// Streams the stages of a job, wherever it runs: those that it has passed, and each further one soon after it was
    /// saved.
    ///
    /// All stages are delivered in order if the job keeps its stages; otherwise the last one that is stored, each time
    /// it is looked up. The sequence ends after the stage that has the result. Each iterator is an independent
    /// subscription, and leaving the loop does not affect the job.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - type: The progression type that was enqueued.
    /// - Returns: The stages; nothing happens before the first is requested. It throws ``FleetError`` when the job
    ///   failed, was cancelled or does not exist; ``PostgresError``; `CancellationError`.
    public func stages<P: Progression & Codable>(
      of id: String,
      as type: P.Type
    ) -> some AsyncSequence<P, any Error> & Sendable {
      FleetStages<P>(fleet: self, id: id)
    }

    /// Returns the state, and has notifications sent about the job for a minute if it has not ended.
    ///
    /// A claim skips a row that this holds locked, so that a queued job is announced again.
    func watch(_ id: String) async throws -> FleetStatus? {
      guard let status = try await store.watch(id) else { return try await status(of: id) }
      if status.state == .queued { await announce(status.progression, 1) }
      return status
    }

    /// Throws for a job that has ended without a result.
    func check(_ status: FleetStatus) throws(FleetError) {
      if status.state == .failed { throw .failed(id: status.id, error: status.error ?? "no error was stored") }
      if status.state == .cancelled { throw .cancelled(id: status.id, reason: status.cancellationReason) }
    }
  }

  /// Reads the stages of a job in batches, and waits for further ones.
  private struct FleetStages<P: Progression & Codable>: AsyncSequence, AsyncIteratorProtocol, Sendable {
    typealias Element = P
    typealias Failure = any Error

    let fleet: Fleet
    let id: String
    /// That of the last stage which was read; nil after the end.
    var version: Int64? = 0
    var read: ArraySlice<P> = []

    func makeAsyncIterator() -> Self { self }

    mutating func next(isolation actor: isolated (any Actor)?) async throws -> P? {
      if read.isEmpty, let version {
        self.version = nil
        let (stages, last) = try await fleet.stages(of: id, after: version, as: P.self)
        (read, self.version) = (stages[...], last)
      }
      let stage = read.popFirst()
      if stage == nil || stage?.result != nil { (read, version) = ([], nil) }
      return stage
    }
  }

  extension Fleet {
    /// Returns the stages after a version, and the last one's version: none when the job is done.
    ///
    /// Waits until there is a stage.
    @concurrent
    fileprivate func stages<P: Progression & Codable>(
      of id: String,
      after version: Int64,
      as type: P.Type
    ) async throws -> ([P], Int64) {
      let coder = StageCoder<P>()
      return try await observe(id, coder.name) { status in
        let rows = try await store.stages(of: id, after: version)
        if let last = rows.last?.version {
          return (try rows.map { try coder.decode($0.stage, shape: $0.shape, of: id, by: payloads) }, last)
        }
        if status.state == .done { return ([], version) }
        try check(status)
        return nil
      }
    }
  }
#endif
