// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFleet
import Synchronization

/// What the tables become while a fleet runs at a modest rate: their sizes, their dead rows, and the time of a claim.
///
/// Of ten jobs, seven have one stage, two have five, and one is a chain that waits for a signal for half a minute. Two workers
/// remove the jobs that ended more than two minutes ago.
struct Bloat: Sendable {
  private static let chain = Chain("signalled") { (number: Int) in
    let doubled = try await step("double") { number * 2 }
    return try await step("signal", waitFor: Int.self) + doubled
  }

  let database: Database
  let minutes: Int
  let jobsPerSecond: Int

  /// Prints a line every three minutes.
  ///
  /// - Returns: The tables' size at the end, divided by that after ten minutes.
  func measure() async throws -> Double {
    let times = ClaimTimes()
    let token = CancellationToken()
    let workers = (0..<2).map { _ in
      Fleet(
        database.connectionString,
        configuration: FleetConfiguration(schema: Database.schema, retention: .seconds(120))
      )
    }
    return try await withThrowingTaskGroup(of: Void.self) { group in
      for fleet in workers {
        fleet.register(Count.self)
        fleet.register(Self.chain)
        group.addTask { try await fleet.work(until: token) { times.record($0) } }
      }
      group.addTask { try await produce(until: token) }
      let size = try await observe(times)
      token.cancel()
      try await group.waitForAll()
      return size
    }
  }

  /// Enqueues jobs five times a second, and signals those of half a minute before.
  private func produce(until token: CancellationToken) async throws {
    let fleet = database.fleet()
    let (batch, start) = (jobsPerSecond / 5, ContinuousClock.now)
    for tick in 0... {
      try await Task.sleep(until: start + .milliseconds(200) * tick)
      if token.isCancelled { return }
      let ids = (0..<batch).map { "\(tick)-\($0)" }
      let short = ids.filter { $0.last != "7" && $0.last != "8" && $0.last != "9" }
      try await fleet.enqueue(short.map { (id: $0, progression: Count(last: 1)) })
      let long = ids.filter { $0.last == "7" || $0.last == "8" }
      try await fleet.enqueue(long.map { (id: $0, progression: Count(last: 5)) })
      try await fleet.enqueue(Self.chain, ids.filter { $0.last == "9" }.map { (id: $0, input: tick) })
      for id in ids where id.last == "9" && tick >= 150 {
        try await fleet.send(tick, to: "\(tick - 150)-\(id.split(separator: "-")[1])", signal: "signal")
      }
    }
  }

  private func observe(_ times: ClaimTimes) async throws -> Double {
    let (schema, start) = (Database.schema, ContinuousClock.now)
    var early: Double?
    func show(_ cells: [String]) {
      FileHandle.standardOutput.write(Data((cells.joined(separator: "\t") + "\n").utf8))
    }
    show([
      "minute", "jobs", "queued", "dead rows", "jobs MB", "indexes MB", "all MB", "vacuums", "claim p50 ms", "p99 ms",
    ])
    for minute in stride(from: 1, through: minutes, by: 1) {
      try await Task.sleep(until: start + .seconds(60) * minute)
      guard minute % 3 == 1 || minute == minutes else { continue }
      let values = try database.run(
        """
        SELECT j.n, j.queued, t.dead, j.size, j.indexes, t.size, t.vacuums FROM (
          SELECT count(*) AS n, count(*) FILTER (WHERE state = 'queued') AS queued,
            round(pg_table_size('\(schema).jobs') / 1e6, 1) AS size, round(pg_indexes_size('\(schema).jobs') / 1e6, 1) AS indexes
          FROM \(schema).jobs
        ) AS j, (
          SELECT sum(n_dead_tup) FILTER (WHERE relname = 'jobs') AS dead, sum(autovacuum_count) AS vacuums,
            round(sum(pg_total_relation_size(relid)) / 1e6, 1) AS size
          FROM pg_stat_user_tables WHERE schemaname = '\(schema)'
        ) AS t
        """
      ).split(separator: "|").map { Double($0) ?? 0 }
      let claims = times.take()
      show(([Double(minute)] + values + [claims.median, claims.tail]).map { "\($0)" })
      if minute >= 10, early == nil { early = values[5] }
      if minute == minutes { return values[5] / (early ?? values[5]) }
    }
    return 1
  }
}

/// The times of the claims since the last look, in milliseconds.
final class ClaimTimes: Sendable {
  private let times = Mutex<[Double]>([])

  func record(_ event: FleetEvent) {
    if case .claimed(_, let time) = event { times.withLock { $0.append(time / .milliseconds(1)) } }
  }

  func take() -> (median: Double, tail: Double) {
    let sorted = times.withLock { times in
      defer { times = [] }
      return times.sorted()
    }
    guard !sorted.isEmpty else { return (0, 0) }
    func rounded(_ value: Double) -> Double { (value * 10).rounded() / 10 }
    return (rounded(sorted[sorted.count / 2]), rounded(sorted[sorted.count * 99 / 100]))
  }
}
