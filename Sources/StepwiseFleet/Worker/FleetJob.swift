// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
  import StepwiseCheckpoints

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Starts other jobs from a stage, and waits for them: the job whose stage runs in the current task.
  ///
  /// ```swift
  /// case .splitting(let files):
  ///   try await FleetJob.current?.enqueueChildren(files.map { (id: $0, progression: Import.start($0)) })
  ///   return .joining(files)
  /// case .joining(let files):
  ///   _ = try await FleetJob.current?.waitForChildren(files)
  ///   return .done
  /// ```
  public struct FleetJob: Sendable {
    /// The job of the present Task; nil outside of a worker.
    @TaskLocal public static var current: FleetJob?

    let fleet: Fleet
    /// The id.
    public let id: String
    let claim: ClaimedJob

    /// The number of attempts at the present stage, this one included.
    public var attempt: Int { claim.attempt }

    /// Enqueues progressions as children of this job, except those whose ids the fleet has.
    ///
    /// A child's id is that of this job, a slash, and the id that you pass: a stage that is repeated adds no child twice,
    /// and two parents have no child in common. Children are cancelled with this job, and kept until it has ended; one that
    /// is added after this job was cancelled is cancelled at once. Detach a child that an undo needs.
    ///
    /// - Parameters:
    ///   - progressions: The ids within this job, and the stages to begin with.
    ///   - options: Priority, key and time of all of them.
    ///   - isDetached: Whether the children are neither cancelled nor kept with this job.
    /// - Returns: The number of jobs that were added.
    /// - Throws: What `enqueue` throws.
    @discardableResult
    @concurrent public func enqueueChildren<P: Progression & Codable>(
      _ progressions: [(id: String, progression: P)],
      options: FleetOptions = FleetOptions(),
      isDetached: Bool = false
    ) async throws -> Int {
      let children = progressions.map { (id: childID($0.id), progression: $0.progression) }
      return try await fleet.enqueue(children, options: options, parent: isDetached ? nil : id)
    }

    /// Returns the id of a child in the fleet.
    ///
    /// - Parameter id: The id within this job.
    /// - Returns: The id of this job, a slash, and that id.
    public func childID(_ id: String) -> String { "\(self.id)/\(id)" }

    /// Returns the states of children that have all ended; while one has not, gives up the worker's slot until they have,
    /// as ``waitForJobs(_:)`` does.
    ///
    /// - Parameter ids: The ids within this job.
    /// - Returns: Their states, in the order of the ids.
    /// - Throws: What ``waitForJobs(_:)`` throws.
    @concurrent public func waitForChildren(_ ids: [String]) async throws -> [FleetStatus] {
      try await waitForJobs(ids.map(childID))
    }

    /// Returns the states of jobs that have all ended; while one has not, gives up the worker's slot until they have.
    ///
    /// In that case this throws, and the stage runs again from its beginning when all have ended: do nothing before it
    /// that must not be repeated, and do not catch its error. The wait is stored, and does not count as an attempt.
    ///
    /// - Parameter ids: The jobs, whether children of this one or not.
    /// - Returns: Their states, in the order of the ids.
    /// - Throws: ``FleetError/notFound(id:)``; ``FleetError/needsStage(id:)``; an error that suspends the job.
    @concurrent public func waitForJobs(_ ids: [String]) async throws -> [FleetStatus] {
      try checkStage()
      let statuses = try await fleet.statuses(of: ids)
      let found = Dictionary(statuses.map { ($0.id, $0) }) { first, _ in first }
      let ordered = try ids.map { id in
        guard let status = found[id] else { throw FleetError.notFound(id: id) }
        return status
      }
      guard ordered.allSatisfy(\.state.isFinal) else { throw claim.suspended(JobSuspension(children: ids)) }
      return ordered
    }

    /// Throws in a chain, whose steps cannot be suspended by an error.
    func checkStage() throws(FleetError) {
      if claim.row.isChain { throw .needsStage(id: id) }
    }
  }

  extension FleetJob {
    /// Waits in a stage, without a slot; use `step(_:sleep:)` in a chain.
    ///
    /// The end is stored, so a stage that is repeated waits for the rest. If the worker drains, or has too many waiting
    /// jobs, this throws, and the stage runs again from its beginning when the time has come: do nothing before it that
    /// must not be repeated, and do not catch its error.
    ///
    /// - Parameters:
    ///   - duration: The length of the wait, by the database's clock.
    ///   - name: The name of the wait; waits of the same stage need different ones.
    /// - Throws: `CancellationError`; ``PostgresError``; an error that suspends the job.
    @concurrent public func sleep(for duration: Duration, as name: String = "sleep") async throws {
      try checkStage()
      let end = try await claim.end(of: duration, name)
      _ = try await wait(for: [], until: end) { () -> Bool? in nil }
    }

    /// Waits in a stage for a signal, without a slot; use `step(_:waitFor:)` in a chain.
    ///
    /// Signals of a name are received in the order in which they were sent, also those that were sent earlier. One is
    /// consumed when the stage's result is saved, and received again by a stage that is repeated. One of another type is
    /// skipped, and kept for ``Fleet/refusedSignals(of:)``. This throws as `sleep(for:as:)` does.
    ///
    /// - Parameters:
    ///   - name: The name of the signal, as `send` has it.
    ///   - type: The type of the signal.
    ///   - timeout: The limit for the wait, by the database's clock; it is stored.
    /// - Returns: The signal.
    /// - Throws: `TimeoutError`; `CancellationError`; ``PostgresError``; an error that suspends the job.
    @concurrent public func waitForSignal<Signal: Codable & Sendable>(
      _ name: String,
      as type: Signal.Type,
      timeout: Duration? = nil
    ) async throws -> Signal {
      try await waitForSignal([SignalCase(name, type) { $0 }], as: name, timeout: timeout)
    }

    func waitForSignal<Value: Sendable>(
      _ cases: [SignalCase<Value>],
      as name: String,
      timeout: Duration?
    ) async throws -> Value {
      try checkStage()
      var end: (seconds: Double, rest: Duration)?
      if let timeout { end = try await claim.end(of: timeout, name) }
      let skipped = Lock<[Int64]>([])
      for (index, signal) in cases.enumerated() {
        claim.expect(signal.name, at: "\(name)[\(index)", signal.expectation)
      }
      defer { for (index, signal) in cases.enumerated() { claim.expect(signal.name, at: "\(name)[\(index)", nil) } }
      let value = try await wait(for: cases.map(\.name), until: end) { try await claim.receive(cases, except: skipped) }
      guard let value else { throw TimeoutError(step: name, duration: timeout ?? .zero) }
      return value
    }

    private func wait<Value: Sendable>(
      for signals: [String],
      until end: (seconds: Double, rest: Duration)?,
      _ take: () async throws -> Value?
    ) async throws -> Value? {
      if let value = try await take() { return value }
      if let end, end.rest <= .zero { return nil }
      let waits = [DurableWait(end: end.map { Int($0.seconds * 1_000) }, signals: signals)]
      let news = claim.news()
      guard claim.park(waits) else { throw claim.suspended(JobSuspension(waits)) }
      let result = await Result.of {
        try await DurableSignals.take(within: end?.rest, by: claim.clock, news) {
          if claim.isStopping { throw claim.suspended(JobSuspension(waits)) }
          return try await take()
        }
      }
      await claim.unpark()
      return try result.get()
    }
  }

  extension ClaimedJob {
    /// Returns when a wait of the present stage ends, which is stored at its first call.
    func end(of duration: Duration, _ name: String) async throws -> (seconds: Double, rest: Duration) {
      let stored = try await surroundings.run { try await $0.deadline(name, after: duration, of: row.claim) }
      guard let (end, rest) = stored else { throw LostJob() }
      return (end, .seconds(min(rest, duration / .seconds(1))))
    }

    /// Returns the oldest signal that this attempt has not received; it is consumed with the next save.
    ///
    /// It skips those that are not of the type.
    func receive<Value: Sendable>(
      _ cases: [SignalCase<Value>],
      except skipped: borrowing Lock<[Int64]>
    ) async throws -> Value? {
      while true {
        let known = state.withLock { $0.received } + skipped.withLock { $0 }
        guard let signal = try await signals(cases.map(\.name), limit: 1, except: known).first else { return nil }
        do {
          let value = try DurableSignals.value(of: signal.name, signal.value, cases)
          state.withLock { $0.received.append(Int64(signal.number)) }
          return value
        } catch {
          skipped.withLock { $0.append(Int64(signal.number)) }
          await refuse(signal.number, of: signal.name, error)
        }
      }
    }
  }
#endif
