// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  @testable import StepwiseFleet
  import Testing

  struct CronExpressionTests {
    @Test(arguments: [
      ("* * * * *", "2026-11-22 06:30:59", "2026-11-22 06:31:00"),
      ("0 * * * *", "2026-12-31 23:00:00", "2027-01-01 00:00:00"),
      ("30 3 * * *", "2026-11-22 03:29:59", "2026-11-22 03:30:00"),
      ("30 3 * * *", "2026-11-22 03:30:00", "2026-11-23 03:30:00"),
      ("*/15 9-17 * * mon-fri", "2026-11-20 17:45:00", "2026-11-23 09:00:00"),
      ("0 0 29 feb *", "2026-01-01 00:00:00", "2028-02-29 00:00:00"),
      ("0 0 1,15 * fri", "2026-11-16 00:00:00", "2026-11-20 00:00:00"),
      ("0 0 1 * *", "1969-11-30 12:00:00", "1969-12-01 00:00:00"),
      ("5/20 0 * * 7", "2026-11-22 00:05:00", "2026-11-22 00:25:00"),
    ]
    )
    func `The next time is that of a calendar`(cron: String, now: String, expected: String) throws {
      let next = try #require(try CronExpression(cron).next(after: seconds(now)))
      #expect(next == (try seconds(expected)))
    }

    @Test
    func `Ten years of days agree with Foundation's calendar`() throws {
      var calendar = Calendar(identifier: .gregorian)
      calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
      for (month, weekday) in [(2, 1), (6, 4), (12, 7)] {
        let cron = try CronExpression("0 12 * \(month) \(weekday - 1)")
        let start = try seconds("2020-01-01 00:00:00")
        var found: [Int64] = []
        while let next = cron.next(after: found.last ?? start), next < start + 3_653 * 86_400 { found.append(next) }
        let expected = (0..<3_653).map { start + $0 * 86_400 + 43_200 }.filter { noon in
          let parts = calendar.dateComponents([.month, .weekday], from: Date(timeIntervalSince1970: Double(noon)))
          return parts.month == month && parts.weekday == weekday
        }
        #expect(found == expected)
        #expect(found.count >= 40)
      }
    }

    @Test(arguments: [
      "", "* * * *", "a * * * *", "5-1 * * * *", "*/0 * * * *", "1,,2 * * * *", "1/2/3 * * * *", "* 24 * * *",
      "* * 0 * *", "* * * 13 *", "* * * * 8",
    ]
    )
    func `What is no expression is an error`(cron: String) {
      #expect(throws: CronExpression.Failure.self) { try CronExpression(cron) }
    }

    private func seconds(_ text: String) throws -> Int64 {
      let date = try Date(text.replacing(" ", with: "T") + "Z", strategy: .iso8601)
      return Int64(date.timeIntervalSince1970)
    }
  }
#endif
