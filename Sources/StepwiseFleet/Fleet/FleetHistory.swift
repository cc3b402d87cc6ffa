// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  #if canImport(FoundationEssentials)
    public import FoundationEssentials
  #else
    public import Foundation
  #endif

  /// Describes an attempt at a job: its worker, when it ran, and how it ended.
  ///
  /// Times are by the database's clock. An attempt that stopped only to wait is not one.
  public struct FleetAttempt: Hashable, Sendable {
    /// The number of the stage at which it ended, or is.
    public let stage: Int
    /// The number of the attempt at that stage.
    public let number: Int
    /// The name of the worker, or its number when it has none; nil for an attempt of an earlier version.
    public let worker: String?
    /// When a worker claimed the job.
    public let startedAt: Date
    /// When the attempt ended; nil while it runs.
    public let endedAt: Date?
    /// How it ended: the next state of the job, or `lost` when its worker died; `running` while it runs.
    public let outcome: String
    /// The text of its error, of which at most 500 characters are kept.
    public let error: String?
  }

  /// Counts the dead letters whose errors are the same but for the numbers in them.
  public struct FleetErrorGroup: Hashable, Sendable {
    /// The first line of one of the errors; as ``FleetFilter/error`` it matches the group.
    public let error: String
    /// The name of the type, as in ``FleetStatus/progression``.
    public let name: String
    /// The number of dead letters.
    public let count: Int
    /// When the last one failed.
    public let lastFailedAt: Date
    /// The id of one of them.
    public let exampleID: String
  }

  extension Fleet {
    /// Returns the attempts at a job, the oldest first: the last 20 that ended without a result, and the present or last one.
    ///
    /// - Parameter id: The id.
    /// - Returns: The attempts; none when no worker has claimed the job, or the fleet has none with the id.
    /// - Throws: ``PostgresError``.
    @concurrent public func attempts(of id: String) async throws -> [FleetAttempt] {
      if id.utf8.contains(0) { return [] }
      return try await store.attempts(of: id)
    }

    /// Returns the dead letters in groups with the same name and, apart from numbers, the same first line of the error.
    ///
    /// - Parameter limit: How many groups at most.
    /// - Returns: The groups, the largest first.
    /// - Throws: ``PostgresError``.
    @concurrent public func errors(limit: Int = 20) async throws -> [FleetErrorGroup] {
      try await store.errors(limit: max(0, limit))
    }

    /// Keeps a job from being started, until it is resumed, whatever ends its wait.
    ///
    /// A job that runs continues, and is paused when its attempt ends without a result.
    ///
    /// - Parameter id: The id.
    /// - Returns: A Boolean value that indicates whether the job has not ended and was not paused before.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func pause(job id: String) async throws -> Bool {
      if id.utf8.contains(0) { return false }
      return try await store.pauseJob(id)
    }

    /// Lets a paused job be started again, when it is due.
    ///
    /// - Parameter id: The id.
    /// - Returns: A Boolean value that indicates whether the job was paused.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func resume(job id: String) async throws -> Bool {
      if id.utf8.contains(0) { return false }
      guard let job = try await store.resumeJob(id) else { return false }
      if job.state == .queued { await announce(job.name, 1) }
      return true
    }
  }
#endif
