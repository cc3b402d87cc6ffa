// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseFleet

/// What enqueuing takes beside a plain COPY of the same rows into a table with the same indexes.
enum Enqueue {
  static func measure(_ database: Database) async throws -> (fleet: Double, copy: Double) {
    let (schema, count) = (Database.schema, 100_000)
    let fleet = database.fleet()
    let jobs = (0..<count).map { (id: "job-\($0)", progression: Count(last: 1)) }
    let columns = "id, name, key, priority, state, run_at, keeps_stages, first_shape, first, shape, parent"
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("rows-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: file) }
    var times: [(fleet: Double, copy: Double)] = []
    try database.run("CREATE TABLE \(schema).copied (LIKE \(schema).jobs INCLUDING ALL)")
    for _ in 0..<5 {
      try database.run("TRUNCATE \(schema).jobs, \(schema).copied")
      let start = ContinuousClock.now
      try await fleet.enqueue(jobs)
      let middle = ContinuousClock.now
      try database.run("\\copy \(schema).jobs (\(columns)) TO '\(file)'")
      let restart = ContinuousClock.now
      try database.run("\\copy \(schema).copied (\(columns)) FROM '\(file)'")
      times.append((start.duration(to: middle) / .seconds(1), restart.duration(to: .now) / .seconds(1)))
    }
    try database.run("TRUNCATE \(schema).jobs; DROP TABLE \(schema).copied")
    return times.sorted { $0.fleet / $0.copy < $1.fleet / $1.copy }[times.count / 2]
  }

  /// Jobs a second: one at a time from so many Tasks, or all at once from one.
  static func rate(_ database: Database, jobs: Int, clients: Int, payload: String? = nil) async throws -> Double {
    let fleet = database.fleet()
    _ = try await fleet.counts()
    let start = ContinuousClock.now
    if clients == 1 {
      try await fleet.enqueue((0..<jobs).map { (id: "job-\($0)", progression: Count(last: 1, payload: payload)) })
    } else {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for client in 0..<clients {
          group.addTask {
            for job in stride(from: client, to: jobs, by: clients) {
              try await fleet.enqueue(Count(last: 1, payload: payload), id: "job-\(job)")
            }
          }
        }
        try await group.waitForAll()
      }
    }
    return Double(jobs) / (start.duration(to: .now) / .seconds(1))
  }
}
