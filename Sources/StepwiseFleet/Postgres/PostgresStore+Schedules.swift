// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// Schedules.
  extension PostgresStore {
    func knowsTimeZone(_ name: String) async throws -> Bool {
      let zones = "SELECT name FROM pg_catalog.pg_timezone_names WHERE name = $1 LIMIT 1"
      return try await !database.run(zones, [.text(name)]).isEmpty
    }

    func add(_ schedule: NewSchedule) async throws {
      let (batch, options) = (schedule.job.batch, schedule.job.options)
      try await database.run(
        """
        INSERT INTO @.schedules AS s
          (name, cron, zone, next_at, progression, key, priority, keeps_stages, shape, first, tags)
        VALUES ($1, $2, $3, to_timestamp($4), $5, $6, $7, $8, $9, $10, $11)
        ON CONFLICT (name) DO UPDATE SET
          next_at = CASE WHEN s.cron = EXCLUDED.cron AND s.zone = EXCLUDED.zone THEN s.next_at ELSE EXCLUDED.next_at END,
          cron = EXCLUDED.cron, zone = EXCLUDED.zone, progression = EXCLUDED.progression, key = EXCLUDED.key,
          priority = EXCLUDED.priority, keeps_stages = EXCLUDED.keeps_stages, shape = EXCLUDED.shape, first = EXCLUDED.first,
          tags = EXCLUDED.tags
        """,
        [
          .text(schedule.name), .text(schedule.cron), .text(schedule.zone), .real(schedule.next), .text(batch.name),
          .text(options.key), .integer(Int64(options.priority)), .flag(options.keepsStages),
          .integer(Int64(batch.shape)), .text(batch.stages[0]), .tags(options.tags),
        ]
      )
    }

    func removeSchedule(_ name: String) async throws {
      try await database.run("DELETE FROM @.schedules WHERE name = $1", [.text(name)])
    }

    func dueSchedules() async throws -> [(name: String, cron: String, zone: String, time: Double)] {
      try await database.run(
        """
        SELECT name, cron, zone, extract(epoch FROM next_at)::float8
        FROM @.schedules WHERE next_at <= clock_timestamp() ORDER BY next_at LIMIT 100
        """
      ).compactMap { row in
        guard let name = row.text(0), let cron = row.text(1), let zone = row.text(2), let time = row.real(3) else {
          return nil
        }
        return (name, cron, zone, time)
      }
    }

    /// The first stage of a job of a schedule: each run of a chain has its own identity.
    private static let firstOfTick = """
      CASE WHEN starts_with(progression, 'chain ') THEN \(withNewIdentity) ELSE first END
      """

    func tick(_ name: String, at time: Double, next: Double) async throws -> String? {
      try await database.run(
        """
        WITH moved AS (
          UPDATE @.schedules SET next_at = to_timestamp($3)
          WHERE name = $1 AND extract(epoch FROM next_at)::float8 = $2
          RETURNING *
        )
        INSERT INTO @.jobs (id, name, key, priority, state, run_at, keeps_stages, first_shape, first, shape, turn, tags)
        SELECT name || chr(64) || to_char(to_timestamp($2) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), progression,
          key, priority, 'queued', to_timestamp($2), keeps_stages, shape, \(Self.firstOfTick), shape, @.turn(progression, key, priority), tags
          FROM moved
        ON CONFLICT (id) DO NOTHING RETURNING name
        """,
        [.text(name), .real(time), .real(next)]
      ).first?.text(0)
    }

    func schedules() async throws -> [FleetSchedule] {
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

    func runSchedule(_ name: String) async throws -> (id: String, progression: String)? {
      let row = try await database.run(
        """
        INSERT INTO @.jobs (id, name, key, priority, state, run_at, keeps_stages, first_shape, first, shape, tags)
        SELECT name || chr(64) || to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), progression,
          key, priority, 'queued', clock_timestamp(), keeps_stages, shape, \(Self.firstOfTick), shape, tags FROM @.schedules WHERE name = $1
        RETURNING id, name
        """,
        [.text(name)]
      ).first
      guard let id = row?.text(0), let progression = row?.text(1) else { return nil }
      return (id, progression)
    }

    /// Returns the first time of a schedule after now and another time, in seconds since 1970; nil for none.
    ///
    /// A wildcard schedule follows the time that passes, and runs on through an hour that is repeated: its next three hours
    /// are looked at minute by minute. Another one follows the clock on the wall, which shows its times once a day.
    func next(of cron: CronExpression, in zone: String, after seconds: Double) async throws -> Int64? {
      let times = try await database.run(
        """
        SELECT extract(epoch FROM t.at)::bigint, extract(epoch FROM t.at AT TIME ZONE $1)::bigint FROM (
          SELECT date_trunc('minute', greatest(clock_timestamp(), to_timestamp($2))) + m * interval '1 minute' AS at
          FROM generate_series(0, $3) AS m
        ) AS t ORDER BY 1
        """,
        [.text(zone), .real(seconds), .integer(cron.isWildcard ? 180 : 0)]
      ).compactMap { row in row.integer(0).flatMap { time in row.integer(1).map { (time: time, wall: $0) } } }
      if let next = times.dropFirst().first(where: { cron.matches(wall: $0.wall) }) { return next.time }
      guard let wall = times.last.flatMap({ cron.next(after: $0.wall) }) else { return nil }
      // Of a time that the clock shows twice, the server takes the second.
      return try await database.run(
        """
        SELECT extract(epoch FROM CASE
          WHEN $3 AND (t.at - interval '1 hour') AT TIME ZONE $1 = t.wall THEN t.at - interval '1 hour' ELSE t.at END)::bigint
        FROM (
          SELECT w.wall, w.wall AT TIME ZONE $1 AS at FROM (SELECT timestamp 'epoch' + $2 * interval '1 second' AS wall) AS w
        ) AS t
        """,
        [.text(zone), .integer(wall), .flag(cron.isWildcard)]
      ).first?.integer(0)
    }
  }
#endif
