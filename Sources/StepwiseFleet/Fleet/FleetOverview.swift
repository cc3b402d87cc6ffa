// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  #if canImport(FoundationEssentials)
    public import FoundationEssentials
  #else
    public import Foundation
  #endif

  /// A page of jobs, in the order of their ids.
  public struct FleetPage: Hashable, Sendable {
    /// The jobs.
    public let jobs: [FleetStatus]
    /// The id to pass as `after` for the next page; nil when this is the last one.
    public let next: String?
  }

  /// Counts the jobs and the workers of one progression type.
  public struct FleetNameStatus: Hashable, Sendable {
    /// The name of the type, as in ``FleetStatus/progression``.
    public let name: String
    /// A Boolean value that indicates whether the name is paused.
    public let isPaused: Bool
    /// The number of jobs in each state that there are any in.
    public let counts: [FleetState: Int]
    /// How long ago the job was due that has been queued for the longest time; nil when none is queued.
    public let oldestQueued: Duration?
    /// The number of workers with a lease that have registered the type: with 0, its jobs stay queued.
    public let workerCount: Int
  }

  /// Describes a worker that has a lease: its name, its jobs, and how long the lease lasts.
  public struct FleetWorkerStatus: Hashable, Sendable {
    /// The random number of the registration, as in ``FleetStatus/worker``; a worker that lost its lease registers again.
    public let id: Int64
    /// The name, from ``FleetConfiguration/workerName``.
    public let name: String
    /// The number of jobs that it runs.
    public let runningCount: Int
    /// When it registered, by the database's clock.
    public let registeredAt: Date
    /// How long its lease lasts unless it is renewed.
    public let leaseRemaining: Duration
  }

  /// Counts the jobs that ended in a period, and shows how long they took.
  public struct FleetActivity: Hashable, Sendable {
    /// When the period began, by the database's clock.
    public let start: Date
    /// The number of jobs that ended with a result.
    public let doneCount: Int
    /// The number of jobs that were dead-lettered.
    public let failedCount: Int
    /// The median time of a job from its first start to its end; nil when none ended.
    public let median: Duration?
    /// The time that 99 % of the jobs did not exceed; nil when none ended.
    public let percentile99: Duration?
  }

  /// A stage of a job as it is stored, for a timeline.
  public struct FleetStageRecord: Hashable, Sendable {
    /// The number of the stage: 1 for the first.
    public let number: Int
    /// When it was stored, by the database's clock.
    public let savedAt: Date
    /// The stage as JSON.
    public let json: String
  }

  extension Fleet {
    /// Returns the state of a job; nil when the fleet has none with the id.
    ///
    /// - Parameter id: The id.
    /// - Returns: The state.
    /// - Throws: ``PostgresError``.
    @concurrent public func status(of id: String) async throws -> FleetStatus? {
      try await statuses(of: [id]).first
    }

    func statuses(of ids: [String]) async throws -> [FleetStatus] {
      try await store.statuses(of: ids.filter { !$0.utf8.contains(0) })
    }

    /// Returns a page of jobs, in the order of their ids.
    ///
    /// - Parameters:
    ///   - states: The states; all when it is empty.
    ///   - name: The name of the progression's type; nil for all.
    ///   - text: A text that the id, the key or the error contains; nil for all.
    ///   - last: ``FleetPage/next`` of the page before; nil for the first page.
    ///   - limit: How many jobs at most.
    /// - Returns: The page.
    /// - Throws: ``PostgresError``.
    @concurrent public func jobs(
      in states: Set<FleetState> = [],
      named name: String? = nil,
      containing text: String? = nil,
      after last: String? = nil,
      limit: Int = 100
    ) async throws -> FleetPage {
      try await jobs(matching: FleetFilter(states: states, name: name, text: text), after: last, limit: limit)
    }

    /// Returns a page of the jobs that a filter matches, in the order of their ids.
    ///
    /// - Parameters:
    ///   - filter: The filter.
    ///   - last: ``FleetPage/next`` of the page before; nil for the first page.
    ///   - limit: How many jobs at most.
    /// - Returns: The page.
    /// - Throws: ``FleetError/invalidTag(tag:reason:)``; ``PostgresError``.
    @concurrent public func jobs(
      matching filter: FleetFilter,
      after last: String? = nil,
      limit: Int = 100
    ) async throws -> FleetPage {
      try filter.check()
      let limit = max(1, limit)
      let rows = try await store.jobs(matching: filter, after: last, limit: limit + 1)
      let jobs = Array(rows.prefix(limit))
      return FleetPage(jobs: jobs, next: rows.count > limit ? jobs.last?.id : nil)
    }

    /// Returns the dead letters that failed last.
    ///
    /// - Parameter limit: How many at most.
    /// - Returns: The jobs, the last one to fail first.
    /// - Throws: ``PostgresError``.
    @concurrent public func deadLetters(limit: Int = 100) async throws -> [FleetStatus] {
      try await store.deadLetters(limit: max(0, limit))
    }

    /// Returns the number of jobs in each state that there are any in.
    ///
    /// It reads the whole table.
    ///
    /// - Returns: The numbers.
    /// - Throws: ``PostgresError``.
    @concurrent public func counts() async throws -> [FleetState: Int] {
      try await store.counts()
    }

    /// Returns what the fleet has of each progression type: jobs in each state, workers, and whether it is paused.
    ///
    /// - Parameter age: How long ago a job has ended at most to be counted; nil for all, which reads the whole table.
    /// - Returns: One element for each name that has jobs, is paused or is registered by a worker, in their order.
    /// - Throws: ``PostgresError``.
    @concurrent public func names(endedWithin age: Duration? = nil) async throws -> [FleetNameStatus] {
      try await store.names(endedWithin: age)
    }

    /// Returns the workers that have a lease, in the order in which they registered.
    ///
    /// - Returns: The workers.
    /// - Throws: ``PostgresError``.
    @concurrent public func workers() async throws -> [FleetWorkerStatus] {
      try await store.workers()
    }

    /// Returns how many jobs ended in each period of the last time, and how long they took.
    ///
    /// - Parameters:
    ///   - age: How far to look back.
    ///   - period: The length of a period; at least a second.
    ///   - name: The name of the progression's type; nil for all.
    /// - Returns: The periods in which jobs ended, in order.
    /// - Throws: ``PostgresError``.
    @concurrent public func activity(
      within age: Duration = .seconds(3_600),
      per period: Duration = .seconds(60),
      named name: String? = nil
    ) async throws -> [FleetActivity] {
      try await store.activity(within: age, per: period, named: name)
    }

    /// Returns the stages of a job that are stored, in order: the first, those that it keeps, and the last.
    ///
    /// - Parameter id: The id.
    /// - Returns: The stages; none when the fleet has no job with the id.
    /// - Throws: ``FleetError/unknownCodec(id:codec:)`` and ``FleetError/undecodable(id:codec:reason:)`` when no codec of the
    ///   fleet can read them; ``PostgresError``.
    @concurrent public func history(of id: String) async throws -> [FleetStageRecord] {
      try await storedHistory(of: id).map { stage in
        let json = try payloads.decode(start: payloads.decode(stage.json, of: id), of: id)
        return FleetStageRecord(number: stage.number, savedAt: stage.savedAt, json: json)
      }
    }

    /// Returns the stages of a job as they are stored, which is no JSON where a codec has encoded them.
    package func storedHistory(of id: String) async throws -> [FleetStageRecord] {
      try await store.history(of: id)
    }

    /// Returns what the steps of a chain have stored, as it is stored, with the times in seconds since 1970.
    package func entries(of id: String) async throws -> [(entry: [UInt8], savedAt: Double?)] {
      try await store.entries(of: id).map { ($0.entry, $0.savedAt) }
    }
  }
#endif
