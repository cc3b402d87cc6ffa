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
      guard !timeZone.utf8.contains(0), try await store.knowsTimeZone(timeZone) else {
        throw FleetError.invalidSchedule(name: name, reason: "the server does not know the time zone \"\(timeZone)\"")
      }
      guard let next = try await store.next(of: expression, in: timeZone, after: 0) else {
        throw FleetError.invalidSchedule(name: name, reason: "no day matches \"\(cron)\"")
      }
      let job = try NewJobs(payloads.encode(batch()), options)
      try await store.add(NewSchedule(name: name, cron: cron, zone: timeZone, next: Double(next), job: job))
    }

    /// Removes a schedule; jobs that it has enqueued stay.
    ///
    /// - Parameter name: The name.
    /// - Throws: ``PostgresError``.
    @concurrent public func removeSchedule(_ name: String) async throws {
      try await store.removeSchedule(name)
    }

    /// Enqueues the ticks that are due.
    ///
    /// Moving a schedule on and enqueuing its tick is one statement, which compares the time that was read: of many
    /// workers that do so at once, one succeeds.
    @concurrent func tick() async throws {
      for (name, cron, zone, time) in try await store.dueSchedules() {
        guard let next = try await store.next(of: Self.parse(cron, name), in: zone, after: time) else { continue }
        if let name = try await store.tick(name, at: time, next: Double(next)) { await announce(name, 1) }
      }
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
