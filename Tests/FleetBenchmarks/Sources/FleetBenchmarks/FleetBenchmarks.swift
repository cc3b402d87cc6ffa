// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFleet

/// What a fleet costs beside plain PostgreSQL, on the server that `STEPWISE_POSTGRES` names, as keywords and values.
///
/// It needs psql and pgbench in `PATH`, and an otherwise idle machine. It creates and drops the schema `stepwise_benchmark` and
/// pgbench's tables. Arguments choose among `throughput`, `claims`, `enqueue`, `parked`, `latency` and `payload`. Two take long and
/// run only by name: `bloat`, with a number of minutes and of jobs a second, and `retention`, with a number of jobs.
@main
struct FleetBenchmarks {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard let connection = ProcessInfo.processInfo.environment["STEPWISE_POSTGRES"] else {
      print("usage: STEPWISE_POSTGRES='host=127.0.0.1 user=… dbname=…' FleetBenchmarks")
      exit(64)
    }
    let database = Database(connectionString: connection)
    switch arguments.dropFirst().first {
    case "work": return try await Throughput.work(connection, workers: 4)
    // What `compare.py` calls.
    case "work-one": return try await Throughput.work(connection, workers: 1)
    case "enqueue-jobs":
      let numbers = arguments.dropFirst(2).compactMap { Int($0) }
      guard numbers.count == 2 else { exit(64) }
      return print(try await Enqueue.rate(database, jobs: numbers[0], clients: numbers[1]))
    default: break
    }
    try database.run("DROP SCHEMA IF EXISTS \(Database.schema) CASCADE")
    var failures = 0
    func report(
      _ name: String,
      _ value: Double,
      _ unit: String = "",
      atMost bound: Double? = nil,
      atLeast least: Double? = nil
    ) {
      let holds = bound.map { value <= $0 } ?? least.map { value >= $0 } ?? true
      if !holds { failures += 1 }
      let limit = bound.map { "at most \($0)" } ?? least.map { "at least \($0)" } ?? ""
      let text = value >= 100 ? "\(Int(value.rounded()))" : "\((value * 100).rounded() / 100)"
      let line = "\(name): \(text) \(unit)\(limit.isEmpty ? "" : " (\(limit)\(holds ? "" : ": MISSED"))")\n"
      FileHandle.standardOutput.write(Data(line.utf8))
    }
    let chosen = Set(arguments.dropFirst())
    func isChosen(_ name: String) -> Bool { chosen.isEmpty || chosen.contains(name) }
    if isChosen("throughput") {
      let transactions = try database.simpleUpdates()
      report("pgbench -N, 8 clients", transactions, "transactions/s")
      let throughput = try await Throughput.measure(database)
      report("Jobs of one stage, 8 workers in 2 processes", throughput.jobs, "jobs/s")
      report("  beside pgbench", throughput.jobs / transactions, atLeast: 0.5)
      report("Stages, in jobs of ten, 8 workers in 2 processes", throughput.stages, "stages/s")
      report("  beside pgbench", throughput.stages / transactions, atLeast: 0.5)
    }
    if isChosen("claims") {
      let few = try await Claims.measure(database, queued: 1_000)
      let many = try await Claims.measure(database, queued: 1_000_000)
      report("A registration and a claim with 1,000 jobs queued, p50", few * 1_000, "ms")
      report("A registration and a claim with 1,000,000 jobs queued, p50", many * 1_000, "ms")
      report("  beside 1,000", many / few, atMost: 1.5)
    }
    if isChosen("enqueue") {
      let enqueue = try await Enqueue.measure(database)
      report("Enqueue of 100,000 jobs", enqueue.fleet, "s")
      report("  beside COPY of the same rows", enqueue.fleet / enqueue.copy, atMost: 2)
    }
    if isChosen("parked") {
      var rates: [[Double]] = [[], []]
      for turn in 0..<6 { rates[turn % 2].append(try await Parked.measure(database, parked: turn % 2 * 900)) }
      let (none, many) = (rates[0].sorted()[1], rates[1].sorted()[1])
      report("Jobs of one stage, 1 worker", none, "jobs/s")
      report("Jobs of one stage, 1 worker that keeps 900 parked runs", many, "jobs/s")
      report("  beside none", many / none, atLeast: 0.95)
    }
    if isChosen("latency") {
      let latency = try await Latency.measure(database)
      report("A round trip, p50", latency.roundTrip * 1_000, "ms")
      report("From enqueue to start in an idle fleet, p50", latency.start * 1_000, "ms")
      report("  in round trips", latency.start / latency.roundTrip, atMost: 5)
    }
    if isChosen("payload") {
      let payload = Throughput.payload(of: 10_240)
      let rates = try await Throughput.measure(database, payload: payload)
      report("Jobs of one stage, with 10 KiB, 8 workers in 2 processes", rates.jobs, "jobs/s")
      report("Stages with 10 KiB, in jobs of ten, 8 workers in 2 processes", rates.stages, "stages/s")
      let rate = try await Enqueue.rate(database, jobs: 10_000, clients: 1, payload: payload)
      report("Bulk enqueue of jobs with 10 KiB", rate, "jobs/s")
    }
    // These take long, so only by name.
    let numbers = arguments.dropFirst().compactMap { Int($0) }
    if chosen.contains("bloat") {
      let (minutes, rate) = numbers.count == 2 ? (numbers[0], numbers[1]) : (60, 50)
      let growth = try await Bloat(database: database, minutes: minutes, jobsPerSecond: rate).measure()
      report("Size of the tables after \(minutes) minutes, beside that after ten", growth, atMost: 1.5)
    }
    if chosen.contains("retention") {
      let jobs = numbers.first ?? 10_000_000
      let times = try await Retention.measure(database, jobs: jobs)
      report("Prune of \(jobs) jobs", times.prune, "s")
      report("  VACUUM afterwards", times.vacuum, "s")
      report("  DROP of a partition with the same rows", times.drop, "s")
      report("  INSERT of the rows into the partition", times.move, "s")
    }
    try database.run("DROP SCHEMA IF EXISTS \(Database.schema) CASCADE")
    exit(failures == 0 ? 0 : 1)
  }
}

/// Counts to a last step, and computes nothing.
struct Count: Progression, Codable {
  var step = 0
  var last: Int
  var payload: String?

  func next() async throws -> Count { Count(step: step + 1, last: last, payload: payload) }

  var result: Int? { step == last ? step : nil }
}

/// Says when its stage starts.
struct Started: Progression, Codable {
  private static let stream = AsyncStream<ContinuousClock.Instant>.makeStream()

  var isStarted = false

  /// Waits for the next start.
  static func start() async -> ContinuousClock.Instant {
    for await instant in stream.stream { return instant }
    return .now
  }

  func next() async throws -> Started {
    Self.stream.continuation.yield(.now)
    return Started(isStarted: true)
  }

  var result: Bool? { isStarted ? true : nil }
}
