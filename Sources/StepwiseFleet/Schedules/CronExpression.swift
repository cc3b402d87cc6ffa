// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
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
      matchesEitherDay = !fields[2].hasPrefix("*") && !fields[4].hasPrefix("*")
    }

    /// Returns the first minute after a wall-clock time that matches, both in seconds as if the clock showed UTC.
    ///
    /// It is nil when there is none in 28 years, after which the calendar repeats.
    func next(after seconds: Int64) -> Int64? {
      let start = Self.floor(seconds, 60) + 1
      var day = Self.floor(start, 1_440)
      let firstMinute = Int(start - day * 1_440)
      for offset in 0..<(28 * 366) {
        defer { day += 1 }
        guard matches(day) else { continue }
        for hour in hours.sorted() {
          for minute in minutes.sorted() where offset > 0 || hour * 60 + minute >= firstMinute {
            return (day * 1_440 + Int64(hour * 60 + minute)) * 60
          }
        }
      }
      return nil
    }

    private func matches(_ day: Int64) -> Bool {
      let (month, dayOfMonth) = Self.civil(day)
      guard months.contains(month) else { return false }
      // 1 January 1970 was a Thursday.
      let weekday = Int((day % 7 + 11) % 7)
      let (isDay, isWeekday) = (days.contains(dayOfMonth), weekdays.contains(weekday))
      return matchesEitherDay ? isDay || isWeekday : isDay && isWeekday
    }

    /// The month and the day of a number of days since 1 January 1970, in the Gregorian calendar.
    private static func civil(_ day: Int64) -> (month: Int, day: Int) {
      // Years begin in March here, so that the leap day is the last of a year; an era has 400 years.
      let shifted = day + 719_468
      let dayOfEra = shifted - floor(shifted, 146_097) * 146_097
      let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
      let dayOfYear = Int(dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100))
      let monthFromMarch = (5 * dayOfYear + 2) / 153
      let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
      return (monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9, day)
    }

    private static func floor(_ value: Int64, _ divisor: Int64) -> Int64 {
      value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor)
    }

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
        let pieces = part.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(pieces.count) else { throw failure }
        var step = 1
        if pieces.count == 2 {
          guard let number = Int(pieces[1]), number >= 1 else { throw failure }
          step = number
        }
        let bounds = pieces[0].split(separator: "-", omittingEmptySubsequences: false)
        let (low, high): (Int, Int)
        switch (pieces[0], bounds.count) {
        case ("*", _): (low, high) = (range.lowerBound, range.upperBound)
        case (_, 1): (low, high) = (try number(bounds[0]), pieces.count == 2 ? range.upperBound : try number(bounds[0]))
        case (_, 2): (low, high) = (try number(bounds[0]), try number(bounds[1]))
        default: throw failure
        }
        guard low <= high else { throw failure }
        values.formUnion(stride(from: low, through: high, by: step))
      }
      return values
    }
  }
#endif
