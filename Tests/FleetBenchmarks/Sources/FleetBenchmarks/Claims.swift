// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseFleet

/// What a claim takes, by the length of the queue.
enum Claims {
  /// Seconds for a claim of 10 jobs, each by a new worker, on one connection.
  static func measure(_ database: Database, queued: Int) async throws -> Double {
    let schema = Database.schema
    _ = try await database.fleet().counts()
    try database.run(
      """
      TRUNCATE \(schema).jobs, \(schema).workers;
      INSERT INTO \(schema).jobs (id, name, priority, state, run_at, keeps_stages, first_shape, first, shape)
      SELECT 'job-' || n, 'Count', n % 3, 'queued', clock_timestamp(), true, 0, '{"step":0,"last":1}', 0
      FROM generate_series(1, \(queued)) AS n;
      """
    )
    try database.run("VACUUM ANALYZE \(schema).jobs")
    let script = FileManager.default.temporaryDirectory.appendingPathComponent("claim-\(UUID().uuidString).sql")
    defer { try? FileManager.default.removeItem(at: script) }
    try """
    \\set worker random(1, 1000000000000)
    INSERT INTO \(schema).workers (id, name, started_at, lease_until) OVERRIDING SYSTEM VALUE
    VALUES (:worker, '', now(), now() + interval '1 hour');
    SELECT count(*) FROM \(schema).claim(:worker, '{}', '{Count}', '{0}', '{5}', 10);
    """.write(to: script, atomically: true, encoding: .utf8)
    // The last line of the report is the claim's.
    let report = try database.pgbench(["-n", "-r", "-M", "prepared", "-t", "90", "-f", script.path])
    guard let line = report.split(separator: "\n").last(where: { $0.contains(".claim(") }),
      let milliseconds = line.split(separator: " ").first.flatMap({ Double($0) })
    else { throw Database.Failure(description: "no claim in: \(report)") }
    try database.run("TRUNCATE \(schema).jobs, \(schema).workers")
    return milliseconds / 1_000
  }
}
