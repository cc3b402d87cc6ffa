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
      try await database.run(
        """
        SELECT name, cron, zone, progression, extract(epoch FROM next_at)::float8, (
          SELECT j.id FROM @.jobs j WHERE j.id > s.name || chr(64) AND j.id < s.name || 'A' ORDER BY j.id DESC LIMIT 1
        ) FROM @.schedules s ORDER BY next_at, name
        """
      ).map { row in
        FleetSchedule(
          name: row.text(0) ?? "",
          cron: row.text(1) ?? "",
          timeZone: row.text(2) ?? "",
          progression: row.text(3) ?? "",
          nextAt: row.date(4) ?? .distantFuture,
          lastID: row.text(5)
        )
      }
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
      let row = try await database.run(
        """
        INSERT INTO @.jobs (id, name, key, priority, state, run_at, keeps_stages, first_shape, first, shape, tags)
        SELECT name || chr(64) || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), progression,
          key, priority, 'queued', clock_timestamp(), keeps_stages, shape, \(Self.firstOfTick), shape, tags FROM @.schedules WHERE name = $1
        RETURNING id, name
        """,
        [.text(name)]
      ).first
      guard let id = row?.text(0), let progression = row?.text(1) else { throw unknown }
      await announce(progression, 1)
      return id
    }
  }
#endif
