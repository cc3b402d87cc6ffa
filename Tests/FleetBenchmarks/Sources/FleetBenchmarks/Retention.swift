// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseFleet

/// What the removal of jobs that have ended takes, as the fleet does it, and as the DROP of a partition with the same rows.
enum Retention {
  struct Times {
    /// One more write of each row, as a table of ended jobs would need it.
    var move = 0.0
    var drop = 0.0
    var prune = 0.0
    var vacuum = 0.0
  }

  static func measure(_ database: Database, jobs: Int) async throws -> Times {
    let schema = Database.schema
    let fleet = database.fleet()
    _ = try await fleet.counts()
    // A row has about 300 bytes.
    try database.run(
      """
      INSERT INTO \(schema).jobs (id, name, priority, state, run_at, keeps_stages, first_shape, first, shape, stage, worker, fence,
        started_at, finished_at)
      SELECT 'job-' || n, 'Count', 0, 'done', d, true, 0, '{"step":0,"last":1}', 0, '{"step":1,"last":1}', 1, n, d, d
      FROM generate_series(1, \(jobs)) AS n, LATERAL (SELECT now() - (\(jobs) - n) * interval '8 milliseconds' AS d) AS t;
      CREATE TABLE \(schema).ended (LIKE \(schema).jobs) PARTITION BY RANGE (finished_at);
      CREATE TABLE \(schema).ended_day PARTITION OF \(schema).ended DEFAULT;
      CREATE INDEX ON \(schema).ended_day (id);
      CREATE INDEX ON \(schema).ended_day (finished_at);
      """
    )
    try database.run("VACUUM ANALYZE \(schema).jobs")
    func time(_ body: () async throws -> Void) async throws -> Double {
      try database.run("CHECKPOINT")
      let start = ContinuousClock.now
      try await body()
      return start.duration(to: .now) / .seconds(1)
    }
    var times = Times()
    times.move = try await time {
      try database.run("INSERT INTO \(schema).ended SELECT * FROM \(schema).jobs")
    }
    times.drop = try await time { try database.run("DROP TABLE \(schema).ended_day") }
    times.prune = try await time {
      let count = try await fleet.prune(olderThan: .zero)
      guard count == jobs else { throw Database.Failure(description: "\(count) jobs of \(jobs) were removed") }
    }
    times.vacuum = try await time { try database.run("VACUUM \(schema).jobs") }
    return times
  }
}
