// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  extension Fleet {
    /// Enqueues a progression at recurring times: once for each, however many workers run.
    ///
    /// Ids are made of the name and the time: `nightly@2026-11-22T03:00:00Z`. A worker of the fleet enqueues a tick
    /// when it is due. Of ticks that passed while no worker ran, the first is enqueued, and the others are not. When
    /// clocks go forward, a tick in the hour that is left out comes an hour later. When they go back, a schedule whose
    /// minute or hour begins with `*` runs on through the hour that is repeated, and another one has its ticks in it once.
    ///
    /// A schedule of the same name is replaced; an unchanged one keeps its next time.
    ///
    /// - Parameters:
    ///   - name: The name: 1 to 170 bytes of UTF-8 without NUL.
    ///   - cron: Minute, hour, day of the month, month and weekday, as `crontab` has them: `0 3 * * mon-fri`.
    ///   - timeZone: The time zone's name, as the server knows it: `Europe/Berlin`.
    ///   - progression: The stage to begin with.
    ///   - options: Priority, key and tags; `start` is not used.
    /// - Throws: ``FleetError/invalidSchedule(name:reason:)``; ``FleetError/unstorable(id:reason:)``;
    ///   ``FleetError/invalidTag(tag:reason:)``; ``PostgresError``.
    @concurrent public func schedule<P: Progression & Codable>(
      _ name: String,
      cron: String,
      timeZone: String = "UTC",
      _ progression: P,
      options: FleetOptions = FleetOptions()
    ) async throws {
      try await schedule(name, cron, timeZone, FleetBatch([(id: name, progression: progression)]), options)
    }

    /// Enqueues a run of a chain at recurring times, as `schedule(_:cron:timeZone:_:options:)` of a progression does.
    ///
    /// Each run has the input, and its own idempotency keys.
    ///
    /// - Parameters:
    ///   - name: The name: 1 to 170 bytes of UTF-8 without NUL.
    ///   - cron: Minute, hour, day of the month, month and weekday, as `crontab` has them: `0 3 * * mon-fri`.
    ///   - timeZone: The time zone's name, as the server knows it: `Europe/Berlin`.
    ///   - chain: The chain; only its name is stored.
    ///   - input: The first step's input.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and tags; `start` is not used.
    /// - Throws: ``FleetError/invalidSchedule(name:reason:)``; ``FleetError/unstorable(id:reason:)``;
    ///   ``PostgresError``.
    @concurrent public func schedule<Input: Codable & Sendable, Output>(
      _ name: String,
      cron: String,
      timeZone: String = "UTC",
      _ chain: Chain<Input, Output>,
      _ input: Input,
      version: Int = 0,
      options: FleetOptions = FleetOptions()
    ) async throws {
      try await schedule(name, cron, timeZone, FleetBatch(chain, version, [(id: name, input: input)]), options)
    }

    /// Enqueues a run of a chain without an input at recurring times.
    ///
    /// - Parameters:
    ///   - name: The name: 1 to 170 bytes of UTF-8 without NUL.
    ///   - cron: Minute, hour, day of the month, month and weekday, as `crontab` has them: `0 3 * * mon-fri`.
    ///   - timeZone: The time zone's name, as the server knows it: `Europe/Berlin`.
    ///   - chain: The chain; only its name is stored.
    ///   - version: The number of your code, for `CurrentRun.version`.
    ///   - options: Priority, key and tags; `start` is not used.
    /// - Throws: ``FleetError/invalidSchedule(name:reason:)``; ``FleetError/unstorable(id:reason:)``;
    ///   ``PostgresError``.
    @concurrent public func schedule<Output>(
      _ name: String,
      cron: String,
      timeZone: String = "UTC",
      _ chain: Chain<Void, Output>,
      version: Int = 0,
      options: FleetOptions = FleetOptions()
    ) async throws {
      try await schedule(name, cron, timeZone, FleetBatch(chain, version, [(id: name, input: ())]), options)
    }

    private func schedule(
      _ name: String,
      _ cron: String,
      _ timeZone: String,
      _ batch: @autoclosure () throws -> FleetBatch,
      _ options: FleetOptions
    ) async throws {
      guard (1...170).contains(name.utf8.count), !name.utf8.contains(0) else { throw FleetError.invalidID(id: name) }
      try FleetTags.check(options.tags)
      let expression = try Self.parse(cron, name)
      let zones = "SELECT name FROM pg_catalog.pg_timezone_names WHERE name = $1 LIMIT 1"
      guard !timeZone.utf8.contains(0), try await !database.run(zones, [.text(timeZone)]).isEmpty else {
        throw FleetError.invalidSchedule(name: name, reason: "the server does not know the time zone \"\(timeZone)\"")
      }
      guard let next = try await next(of: expression, in: timeZone) else {
        throw FleetError.invalidSchedule(name: name, reason: "no day matches \"\(cron)\"")
      }
      let batch = try payloads.encode(batch())
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
          .text(name), .text(cron), .text(timeZone), .real(Double(next)), .text(batch.name),
          .text(options.key), .integer(Int64(options.priority)), .flag(options.keepsStages),
          .integer(Int64(batch.shape)), .text(batch.stages[0]), .tags(options.tags),
        ]
      )
    }

    /// The first stage of a job of a schedule: each run of a chain has its own identity.
    static let firstOfTick = """
      CASE WHEN starts_with(progression, 'chain ') THEN \(withNewIdentity) ELSE first END
      """

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
        SELECT name, cron, zone, extract(epoch FROM next_at)::float8
        FROM @.schedules WHERE next_at <= clock_timestamp() ORDER BY next_at LIMIT 100
        """
      )
      for row in due {
        guard let name = row.text(0), let cron = row.text(1), let zone = row.text(2), let seconds = row.real(3),
          let next = try await next(of: Self.parse(cron, name), in: zone, after: seconds)
        else { continue }
        let added = try await database.run(
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
          [.text(name), .real(seconds), .real(Double(next))]
        )
        if let name = added.first?.text(0) { await announce(name, 1) }
      }
    }

    /// Returns the first time of a schedule after now and another time, in seconds since 1970; nil for none.
    ///
    /// A wildcard schedule follows the time that passes, and runs on through an hour that is repeated: its next three hours
    /// are looked at minute by minute. Another one follows the clock on the wall, which shows its times once a day.
    func next(of cron: CronExpression, in zone: String, after seconds: Double = 0) async throws -> Int64? {
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

    private static func parse(_ cron: String, _ name: String) throws(FleetError) -> CronExpression {
      do { return try CronExpression(cron) } catch { throw .invalidSchedule(name: name, reason: error.reason) }
    }
  }

  /// The times of day of a recurring schedule: five fields, as `crontab` has them, over wall-clock time without a zone.
  struct CronExpression: Sendable, Equatable {
    /// Why a text is no expression.
    struct Failure: Error {
      let reason: String
    }

    private let minutes: Set<Int>
    private let hours: Set<Int>
    private let days: Set<Int>
    private let months: Set<Int>
    private let weekdays: Set<Int>
    /// If both the day of the month and the weekday are restricted, either is enough.
    private let matchesEitherDay: Bool
    /// Whether the minute or the hour is a wildcard, so that the schedule is one of intervals rather than of times of day.
    let isWildcard: Bool

    init(_ text: String) throws(Failure) {
      let fields = text.split(whereSeparator: \.isWhitespace).map { String($0).lowercased() }
      guard fields.count == 5 else {
        throw Failure(
          reason: "a cron expression has 5 fields (minute hour day month weekday), and \"\(text)\" has \(fields.count)"
        )
      }
      minutes = try Self.values(fields[0], 0...59, "minute")
      hours = try Self.values(fields[1], 0...23, "hour")
      days = try Self.values(fields[2], 1...31, "day")
      let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
      self.months = try Self.values(fields[3], 1...12, "month", names: months)
      let weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
      self.weekdays = Set(try Self.values(fields[4], 0...7, "weekday", names: weekdays, first: 0).map { $0 % 7 })
      isWildcard = fields[0].hasPrefix("*") || fields[1].hasPrefix("*")
      matchesEitherDay = !fields[2].hasPrefix("*") && !fields[4].hasPrefix("*")
    }

    /// Returns the first minute after a wall-clock time that matches, both in seconds as if the clock showed UTC.
    ///
    /// It is nil when there is none in 28 years, after which the calendar repeats.
    func next(after seconds: Int64) -> Int64? {
      let start = Int((Double(seconds) / 60).rounded(.down)) + 1
      let firstDay = Int((Double(start) / 1_440).rounded(.down))
      let times = hours.sorted().flatMap { hour in minutes.sorted().map { hour * 60 + $0 } }
      for day in firstDay..<(firstDay + 28 * 366) where matches(day) {
        if let time = times.first(where: { day * 1_440 + $0 >= start }) { return Int64(day * 1_440 + time) * 60 }
      }
      return nil
    }

    /// Whether the expression includes the minute of a wall-clock time, in seconds as if the clock showed UTC.
    func matches(wall seconds: Int64) -> Bool {
      let minute = Int((Double(seconds) / 60).rounded(.down))
      let day = Int((Double(minute) / 1_440).rounded(.down))
      let time = minute - day * 1_440
      return hours.contains(time / 60) && minutes.contains(time % 60) && matches(day)
    }

    /// Whether the expression includes a day, which is a number of days since 1 January 1970.
    private func matches(_ day: Int) -> Bool {
      let date = Date(timeIntervalSince1970: Double(day) * 86_400)
      let parts = Self.calendar.dateComponents([.month, .day, .weekday], from: date)
      guard let month = parts.month, let day = parts.day, let weekday = parts.weekday else { return false }
      let (isDay, isWeekday) = (days.contains(day), weekdays.contains(weekday - 1))
      return months.contains(month) && (matchesEitherDay ? isDay || isWeekday : isDay && isWeekday)
    }

    private static let calendar = {
      var calendar = Calendar(identifier: .gregorian)
      calendar.timeZone = .gmt
      return calendar
    }()

    private static func values(
      _ field: String,
      _ range: ClosedRange<Int>,
      _ unit: String,
      names: [String] = [],
      first: Int = 1
    ) throws(Failure) -> Set<Int> {
      let failure = Failure(
        reason:
          "\"\(field)\" is no \(unit): use *, numbers from \(range.lowerBound) to \(range.upperBound), ranges, lists and steps"
      )
      func number(_ text: Substring) throws(Failure) -> Int {
        if let index = names.firstIndex(of: String(text)) { return index + first }
        guard let number = Int(text), range.contains(number) else { throw failure }
        return number
      }
      var values: Set<Int> = []
      for part in field.split(separator: ",", omittingEmptySubsequences: false) {
        guard let match = part.wholeMatch(of: /(?:\*|(\w+)(?:-(\w+))?)(?:\/(\d+))?/) else { throw failure }
        let (_, first, last, every) = match.output
        let low = if let first { try number(first) } else { range.lowerBound }
        let isOne = first != nil && last == nil && every == nil
        let high = if let last { try number(last) } else { isOne ? low : range.upperBound }
        guard let step = Int(every ?? "1"), step >= 1, low <= high else { throw failure }
        values.formUnion(stride(from: low, through: high, by: step))
      }
      return values
    }
  }
#endif
