// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// What a worker knows of a progression type or a chain.
  struct FleetRegistration: Sendable {
    let name: String
    let version: Int
    let retry: RetryPolicy
    let limits: FleetLimits
    var isRetryable: @Sendable (any Error) -> Bool = { _ in true }
    /// Runs a claimed job until its end, a stop between two stages or steps, or an error; returns the end, if it has one.
    let run: @Sendable (ClaimedJob) async throws -> Ending?

    /// How long a job waits after an error, the last of a number of failed attempts at its stage; nil when there is no
    /// further attempt.
    func delay(after error: any Error, failures: Int) -> Duration? {
      guard failures < retry.maxAttempts, isRetryable(error) else { return nil }
      if let delay = retry.delay?(error, failures) { return min(delay, .seconds(3_000_000_000)) }
      var generator = SystemRandomNumberGenerator()
      return retry.backoff.delay(afterFailures: failures, using: &generator)
    }
  }

  extension FleetRegistration {
    init<P: Progression & Codable>(
      _ type: P.Type,
      retry: RetryPolicy,
      limits: FleetLimits,
      isRetryable: @escaping @Sendable (any Error) -> Bool
    ) {
      let coder = StageCoder<P>()
      let (name, version) = (coder.name, coder.schemaVersion)
      self.init(name: name, version: version, retry: retry, limits: limits, isRetryable: isRetryable) { job in
        try Task.checkCancellation()
        let (row, location, payloads) = (job.row, job.location(of: job.row.id), job.surroundings.payloads)
        if coder.isAmbiguous { throw CheckpointError.ambiguousType(id: row.id, location: location, name: name) }
        var stage = try coder.decode(row.stage ?? row.first, shape: row.shape, of: row.id, by: payloads)
        var version = row.version
        while stage.result == nil {
          if job.isStopping { return nil }
          try Task.checkCancellation()
          stage = try await stage.next()
          version += 1
          let bytes = try coder.encodeToSave(stage, id: row.id, location: location)
          try await job.save(bytes, version: version, shape: coder.schemaVersion, isLast: stage.result != nil)
        }
        return Ending(state: .done)
      }
    }

    init<Input, Output>(
      _ chain: Chain<Input, Output>,
      version: Int,
      retry: RetryPolicy,
      limits: FleetLimits,
      onFailure: FleetFailurePolicy
    ) {
      let name = chain.hostedName
      self.init(name: name, version: version, retry: retry, limits: limits) { job in
        job.state.withLock { $0.holdsFailures = onFailure == .hold }
        let run = chain.hosted(
          id: job.row.id,
          in: job,
          host: job,
          now: { Date(timeIntervalSince1970: job.now) }
        )
        if job.row.isCancellationRequested { job.cancelRun(reason: try await job.cancellationReason()) }
        job.attach(run)
        defer { job.detach() }
        guard let outcome = try await run.execute(job.token) else {
          if job.isStopping { return nil }
          throw CancellationError()
        }
        let state: FleetState =
          switch outcome {
          case .resolved: .done
          case .failed: .failed
          case .cancelled: .cancelled
          }
        let text = try job.surroundings.payloads.encode(outcome.text, of: job.row.id)
        var ending = Ending(state: state, error: outcome.failure.map(Ending.text), outcome: text)
        if state == .failed { ending.failure = try? StoredOutcome.error(outcome.text, of: chain.hostedName) }
        return ending
      }
    }
  }

  extension StageCoder {
    /// Decodes a stage of a job as it is stored.
    func decode(_ text: String?, shape: Int, of id: String, by payloads: FleetPayloads) throws(FleetError) -> P {
      try decode(payloads.decode(text ?? "", of: id), shape: shape, of: id)
    }

    /// Decodes a stage of a job.
    func decode(_ json: String?, shape: Int, of id: String) throws(FleetError) -> P {
      do {
        return try decode(Array((json ?? "").utf8), schemaVersion: shape)
      } catch {
        throw .unknownShape(id: id, reason: error.reason)
      }
    }
  }

  /// Limits how many jobs of one progression type run at once, and start in a time, over the whole fleet; and how long a
  /// job may run.
  ///
  /// The limits of numbers are in the database: the worker that registered the type last determines them. Each worker
  /// applies the time limits that it registered.
  public struct FleetLimits: Hashable, Sendable {
    /// The number of jobs of the type that run at once; nil for no limit.
    public var running: Int?
    /// The number of jobs of the type with the same key that run at once; nil for no limit.
    public var runningPerKey: Int?
    /// The number of jobs that start in a period; nil for no limit.
    ///
    /// In a time *t* at most `starts + starts * t / period` jobs start: after a pause up to `starts` of them at once.
    public var starts: Int?
    /// The period of `starts`.
    public var period: Duration
    /// The time limit for a stage of a progression, from its start or the end of its last wait; nil for no limit.
    ///
    /// When the time is up, the stage is cancelled and awaited, and its attempt fails. If it still returns a stage, that is
    /// saved. A step of a chain has its `timeout`.
    public var stageTime: Duration?
    /// The time limit for a job, from its first start, waits and retries included; nil for no limit.
    ///
    /// When the time is up, the running stage is cancelled and awaited, and the job is dead-lettered; a chain is cancelled,
    /// and undoes its steps. A job that waits without a worker is stopped when it is next due.
    public var jobTime: Duration?

    /// Creates limits; each parameter sets the property of its name.
    public init(
      running: Int? = nil,
      runningPerKey: Int? = nil,
      starts: Int? = nil,
      per period: Duration = .seconds(1),
      stageTime: Duration? = nil,
      jobTime: Duration? = nil
    ) {
      self.running = running
      self.runningPerKey = runningPerKey
      self.starts = starts
      self.period = period
      self.stageTime = stageTime
      self.jobTime = jobTime
    }

    /// A Boolean value that indicates whether there is a limit for the database to keep.
    var isShared: Bool { running != nil || runningPerKey != nil || starts != nil }

    var isTimed: Bool { stageTime != nil || jobTime != nil }

    /// No limits.
    public static let none = FleetLimits()
  }
#endif
