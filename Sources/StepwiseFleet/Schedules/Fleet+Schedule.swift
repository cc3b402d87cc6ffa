// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise

  extension Fleet {
    /// Enqueues a progression at recurring times: once for each, however many workers run.
    ///
    /// Ids are made of the name and the time: `nightly@2026-11-22T03:00:00Z`. A worker of the fleet enqueues a tick
    /// when it is due. Of ticks that passed while no worker ran, the first is enqueued, and the others are not. When
    /// clocks go forward, a tick in the hour that is left out comes an hour later; when they go back, the hour that is
    /// repeated has its ticks once.
    ///
    /// A schedule of the same name is replaced; an unchanged one keeps its next time.
    ///
    /// - Parameters:
    ///   - name: The name: 1 to 170 bytes of UTF-8 without NUL.
    ///   - cron: Minute, hour, day of the month, month and weekday, as `crontab` has them: `0 3 * * mon-fri`.
    ///   - timeZone: The time zone's name, as the server knows it: `Europe/Berlin`.
    ///   - progression: The stage to begin with.
    ///   - options: Priority and key; `start` is not used.
    /// - Throws: ``FleetError/invalidSchedule(name:reason:)``; ``FleetError/unstorable(id:reason:)``;
    ///   ``PostgresError``.
    @concurrent public func schedule<P: Progression & Codable>(
      _ name: String,
      cron: String,
      timeZone: String = "UTC",
      _ progression: P,
      options: FleetOptions = FleetOptions()
    ) async throws {
      guard (1...170).contains(name.utf8.count), !name.utf8.contains(0) else { throw FleetError.invalidID(id: name) }
      let expression = try Self.parse(cron, name)
      let known = try await database.run(
        """
        SELECT extract(epoch FROM clock_timestamp() AT TIME ZONE name)::bigint FROM pg_catalog.pg_timezone_names
        WHERE name = $1 LIMIT 1
        """,
        [.text(timeZone)]
      )
      guard let wall = known.first?.integer(0) else {
        throw FleetError.invalidSchedule(name: name, reason: "the server does not know the time zone \"\(timeZone)\"")
      }
      guard let next = expression.next(after: wall) else {
        throw FleetError.invalidSchedule(name: name, reason: "no day matches \"\(cron)\"")
      }
      let batch = try FleetBatch([(id: name, progression: progression)])
      try await database.run(
        """
        INSERT INTO @.schedules AS s
          (name, cron, zone, next_at, progression, key, priority, keeps_stages, shape, first)
        VALUES ($1, $2, $3, (timestamp 'epoch' + $4 * interval '1 second') AT TIME ZONE $3, $5, $6, $7, $8 = 1, $9, $10)
        ON CONFLICT (name) DO UPDATE SET
          next_at = CASE WHEN s.cron = EXCLUDED.cron AND s.zone = EXCLUDED.zone THEN s.next_at ELSE EXCLUDED.next_at END,
          cron = EXCLUDED.cron, zone = EXCLUDED.zone, progression = EXCLUDED.progression, key = EXCLUDED.key,
          priority = EXCLUDED.priority, keeps_stages = EXCLUDED.keeps_stages, shape = EXCLUDED.shape, first = EXCLUDED.first
        """,
        [
          .text(name), .text(cron), .text(timeZone), .integer(next), .text(batch.name),
          .text(options.key), .integer(Int64(options.priority)), .integer(options.keepsStages ? 1 : 0),
          .integer(Int64(batch.shape)), .text(batch.stages[0]),
        ]
      )
    }

    /// Removes a schedule; jobs that it has enqueued stay.
    ///
    /// - Parameter name: The name.
    /// - Throws: ``PostgresError``.
    @concurrent public func removeSchedule(_ name: String) async throws {
      try await database.run("DELETE FROM @.schedules WHERE name = $1", [.text(name)])
    }

    /// Enqueues the ticks that are due.
    ///
    /// Moving a schedule on and enqueuing its tick is one statement, which compares the time that was read: of many
    /// workers that do so at once, one succeeds.
    @concurrent func tick() async throws {
      let due = try await database.run(
        """
        SELECT name, cron, zone, extract(epoch FROM next_at)::float8,
          extract(epoch FROM greatest(clock_timestamp(), next_at) AT TIME ZONE zone)::bigint
        FROM @.schedules WHERE next_at <= clock_timestamp() ORDER BY next_at LIMIT 100
        """
      )
      for row in due {
        guard let name = row.text(0), let cron = row.text(1), let seconds = row.real(3), let wall = row.integer(4),
          let next = try Self.parse(cron, name).next(after: wall)
        else { continue }
        let added = try await database.run(
          """
          WITH moved AS (
            UPDATE @.schedules SET next_at = (timestamp 'epoch' + $3 * interval '1 second') AT TIME ZONE zone
            WHERE name = $1 AND extract(epoch FROM next_at)::float8 = $2
            RETURNING *
          )
          INSERT INTO @.jobs (id, name, key, priority, state, run_at, keeps_stages, first_shape, first, shape)
          SELECT name || chr(64) || to_char(to_timestamp($2) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), progression,
            key, priority, 'queued', to_timestamp($2), keeps_stages, shape, first, shape FROM moved
          ON CONFLICT (id) DO NOTHING RETURNING name
          """,
          [.text(name), .real(seconds), .integer(next)]
        )
        if let name = added.first?.text(0) { await announce(name, 1) }
      }
    }

    private static func parse(_ cron: String, _ name: String) throws(FleetError) -> CronExpression {
      do { return try CronExpression(cron) } catch { throw .invalidSchedule(name: name, reason: error.reason) }
    }
  }
#endif
