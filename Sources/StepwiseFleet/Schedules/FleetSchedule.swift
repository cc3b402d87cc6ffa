// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  #if canImport(FoundationEssentials)
    public import FoundationEssentials
  #else
    public import Foundation
  #endif

  /// Describes a recurring schedule: what it enqueues, when, and the next time.
  public struct FleetSchedule: Hashable, Sendable {
    /// The name.
    public let name: String
    /// The cron expression.
    public let cron: String
    /// The name of the time zone.
    public let timeZone: String
    /// The name of the progression's type or of the chain, as in ``FleetStatus/progression``.
    public let progression: String
    /// When the next job is enqueued, by the database's clock.
    public let nextAt: Date
    /// The id of the last job that it enqueued and the fleet still has; nil when there is none.
    public let lastID: String?
  }

  extension Fleet {
    /// Returns the recurring schedules, the one that is due next first.
    ///
    /// - Returns: The schedules.
    /// - Throws: ``PostgresError``.
    @concurrent public func schedules() async throws -> [FleetSchedule] {
      try await store.schedules()
    }

    /// Enqueues a job of a schedule now, besides those at its times.
    ///
    /// - Parameter name: The name of the schedule.
    /// - Returns: The id of the job: the name and the time, with microseconds.
    /// - Throws: ``FleetError/invalidSchedule(name:reason:)`` when there is no schedule of the name; ``PostgresError``.
    @discardableResult
    @concurrent public func runSchedule(_ name: String) async throws -> String {
      let unknown = FleetError.invalidSchedule(name: name, reason: "the fleet has no schedule of this name")
      if name.utf8.contains(0) { throw unknown }
      guard let (id, progression) = try await store.runSchedule(name) else { throw unknown }
      await announce(progression, 1)
      return id
    }
  }
#endif
