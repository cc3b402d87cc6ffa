// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import StepwiseFleet

/// Jobs and stages a second with 8 workers in 2 processes.
enum Throughput {
  /// Runs workers in this process, until it is terminated.
  static func work(_ connectionString: String, workers: Int) async throws {
    try await withTerminationSignals {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<workers {
          let fleet = Database(connectionString: connectionString).fleet()
          fleet.register(Count.self)
          group.addTask { try await fleet.work() }
        }
        try await group.waitForAll()
      }
    }
  }

  /// A text that the server cannot compress.
  static func payload(of bytes: Int) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    return String((0..<bytes).compactMap { _ in digits.randomElement() })
  }

  static func measure(_ database: Database, payload: String? = nil) async throws -> (jobs: Double, stages: Double) {
    let scale = payload == nil ? 1 : 3
    let jobs = try await rate(database, jobs: 30_000 / scale, stages: 1, payload)
    let stages = try await rate(database, jobs: 4_000 / scale, stages: 10, payload) * 10
    return (jobs, stages)
  }

  /// Jobs a second, by the server's clock, from the first start to the last end.
  private static func rate(_ database: Database, jobs: Int, stages: Int, _ payload: String?) async throws -> Double {
    let fleet = database.fleet()
    try await fleet.enqueue(
      (0..<jobs).map { (id: "\(stages)-\($0)", progression: Count(last: stages, payload: payload)) }
    )
    let processes = try (0..<2).map { _ in
      let process = Process()
      process.executableURL = Bundle.main.executableURL
      process.arguments = ["work"]
      try process.run()
      return process
    }
    try await fleet.wait(for: jobs, in: .done)
    for process in processes { process.terminate() }
    for process in processes { process.waitUntilExit() }
    let table = "\(Database.schema).jobs"
    let seconds = "SELECT extract(epoch FROM max(finished_at) - min(started_at)) FROM \(table)"
    let elapsed = try Double(database.run(seconds)) ?? .infinity
    try database.run("TRUNCATE \(table), \(Database.schema).stages")
    return Double(jobs) / elapsed
  }
}
