// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseFleet

/// What a claim takes, by the length of the queue.
enum Claims {
  /// Seconds for the registration of a worker and its claim of one job, on one connection: the median of 900.
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
    INSERT INTO \(schema).workers (id, name, started_at, lease_until, names, slots)
    VALUES (:worker, '', now(), now() + interval '1 hour', '{}', 16);
    SELECT count(*) FROM \(schema).claim(:worker, '{}', '{Count}', '{0}', '{5}', 1);
    """.write(to: script, atomically: true, encoding: .utf8)
    let folder = script.deletingLastPathComponent().path
    let prefix = "claim-\(UUID().uuidString)"
    // What the million rows have left to write would count otherwise.
    try database.run("CHECKPOINT")
    let options = ["-n", "-l", "--log-prefix=\(folder)/\(prefix)", "-M", "prepared", "-t", "900", "-f", script.path]
    _ = try database.pgbench(options)
    let logs = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix(prefix) }
    var times: [Double] = []
    for log in logs {
      let path = "\(folder)/\(log)"
      // The third column of a line is the time of the transaction in microseconds.
      for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
        if let time = line.split(separator: " ").dropFirst(2).first.flatMap({ Double($0) }) { times.append(time) }
      }
      try? FileManager.default.removeItem(atPath: path)
    }
    guard times.count == 900 else { throw Database.Failure(description: "\(times.count) claims of 900 were logged") }
    try database.run("TRUNCATE \(schema).jobs, \(schema).workers")
    return times.sorted()[450] / 1_000_000
  }
}
