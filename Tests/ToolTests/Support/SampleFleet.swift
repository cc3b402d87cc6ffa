// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  @testable import StepwiseFleet

  /// A fleet with jobs in every state, in a schema of its own.
  struct SampleFleet {
    static let server = ProcessInfo.processInfo.environment["STEPWISE_POSTGRES"]

    enum Import: Progression, Codable {
      case read(secret: String), count(Int), done(Int)

      func next() async throws -> Import {
        switch self {
        case .read: .count(1)
        case .count(let number): .done(number)
        case .done: try completed()
        }
      }

      var result: Int? { if case .done(let number) = self { number } else { nil } }
    }

    /// An id, an error and a name that would run if they were not escaped.
    static let script = "<script>document.title='pwned'</script>"

    let fleet: Fleet
    let schema: String

    init(_ schema: String = "tool_\(UUID().uuidString.prefix(8))") async throws {
      self.schema = schema
      fleet = Fleet(
        Self.server ?? "",
        configuration: FleetConfiguration(schema: schema, maxConnections: 2, listens: false)
      )
      try await fleet.database.run("SELECT 1")
    }

    func drop() async throws { try await fleet.database.run("DROP SCHEMA @ CASCADE") }

    /// Adds a progression and a chain that are done, and a chain that waits, encoded by a codec.
    func fillEncoded() async throws {
      let codec = PayloadCodec(name: "sample-1") { bytes in
        bytes.map { $0 ^ 0x5a }
      } decode: { bytes in
        bytes.map { $0 ^ 0x5a }
      }
      let encoded = Fleet(
        Self.server ?? "",
        configuration: FleetConfiguration(schema: schema, maxConnections: 2, listens: false, codec: codec)
      )
      let order = Chain("order") { (card: String) in
        try await step("pay") { "paid by \(card)" }
        return try await step("approval", waitFor: String.self)
      }
      encoded.register(order)
      encoded.register(Import.self)
      try await encoded.enqueue(Import.read(secret: "hunter2"), id: "encoded-import")
      for id in ["encoded-order", "encoded-wait"] { try await encoded.enqueue(order, "hunter2", id: id) }
      try await encoded.send("hunter2", to: "encoded-order", signal: "approval")
      let stop = CancellationToken()
      async let work: Void = encoded.work(until: stop)
      _ = try await encoded.result(of: "encoded-import", as: Import.self)
      _ = try await encoded.result(of: "encoded-order", as: order)
      while try await encoded.status(of: "encoded-wait")?.wait?.reason != .signal { await Task.yield() }
      stop.cancel()
      try await work
      try await encoded.send(["hunter2"], to: "encoded-wait", signal: "approval")
      try await encoded.database.run(
        "UPDATE @.signals SET refusal = $1 WHERE NOT is_taken",
        [.text(try encoded.payloads.encode("hunter2 is no text", of: "encoded-wait"))]
      )
      try await encoded.enqueue(order, "hunter2", id: "encoded-input")
    }

    /// Adds ten jobs: one in each state, one that is damaged, one whose name is paused and one that is a script.
    func fillWithTen() async throws {
      try await fleet.enqueue(Import.read(secret: "hunter2"), id: "queued-1")
      try await fleet.pause("Mail")
      try await fleet.database.run(
        """
        INSERT INTO @.workers (id, name, started_at, lease_until, names, slots)
        VALUES (7, 'web-1 (host a)', now() - interval '1 hour', now() + interval '1 day', '{Import,Resize}', 16)
        """
      )
      try await fleet.database.run(
        """
        INSERT INTO @.jobs (id, name, priority, state, run_at, attempt, worker, keeps_stages, version, first_shape, first,
          shape, stage, error, cancel_reason, created_at, started_at, finished_at)
        SELECT id, name, 0, state, now() - ago, attempt, CASE WHEN state = 'running' THEN 7 END, true, version, 0,
          '{"read":{"secret":"hunter2"}}', 0, stage, error, reason, now() - ago, began, ended
        FROM (VALUES
          ('scheduled-1', 'Import', 'scheduled', interval '-5 minutes', 1, 1, NULL, 'the server is busy', NULL, NULL::timestamptz, NULL::timestamptz),
          ('running-1', 'Import', 'running', interval '90 seconds', 1, 3, '{"count":{"_0":3}}', NULL, NULL, now() - interval '80 seconds', NULL),
          ('waiting-1', 'Import', 'waiting', interval '10 minutes', 1, 2, '{"count":{"_0":2}}', NULL, NULL, now() - interval '9 minutes', NULL),
          ('done-1', 'Import', 'done', interval '20 minutes', 1, 3, '{"done":{"_0":5}}', NULL, NULL, now() - interval '19 minutes', now() - interval '18 minutes'),
          ('failed-1', 'Import', 'failed', interval '30 minutes', 5, 2, '{"count":{"_0":2}}', 'the disk is full' || chr(10) || 'at line 2', NULL, now() - interval '29 minutes', now() - interval '25 minutes'),
          ('cancelled-1', 'Resize', 'cancelled', interval '40 minutes', 1, 1, NULL, NULL, 'the customer left', NULL, now() - interval '35 minutes'),
          ('damaged-1', 'Import', 'failed', interval '50 minutes', 1, 2, '{"count', 'it is not JSON', NULL, now() - interval '49 minutes', now() - interval '45 minutes'),
          ($1, $1, 'failed', interval '1 minute', 1, 2, $1, $1, NULL, now() - interval '50 seconds', now() - interval '10 seconds'),
          ('mail-1', 'Mail', 'queued', interval '7 minutes', 0, 1, NULL, NULL, NULL, NULL, NULL)
        ) AS v(id, name, state, ago, attempt, version, stage, error, reason, began, ended)
        """,
        [.text(Self.script)]
      )
      try await fleet.database.run(
        """
        INSERT INTO @.stages SELECT id, n, 0, '{"count":{"_0":' || n || '}}', started_at + n * interval '10 seconds'
        FROM @.jobs, generate_series(2, version) n WHERE version > 1 AND name = 'Import'
        """
      )
    }

    /// Adds many jobs, of which most have ended in the last hour.
    func fill(_ count: Int) async throws {
      try await fleet.database.run(
        """
        INSERT INTO @.jobs (id, name, priority, state, run_at, attempt, keeps_stages, version, first_shape, first, shape,
          stage, error, created_at, started_at, finished_at)
        SELECT 'job-' || to_char(n, 'FM0000000'), (ARRAY['Import', 'Resize', 'Mail', 'Invoice'])[1 + n % 4], 0, state, due, 1,
          false, 3, 0, '{"read":{"secret":"hunter2"}}', 0, '{"done":{"_0":5}}',
          CASE WHEN state = 'failed' THEN 'connection to 10.0.3.17 timed out after 30 seconds' END,
          due, CASE WHEN state <> 'queued' THEN due + interval '0.2 seconds' END,
          CASE WHEN state IN ('done', 'failed') THEN due + (0.3 + (n * 7919 % 1000) ^ 3 / 1e8) * interval '1 second' END
        FROM (
          SELECT n, CASE WHEN n % 10 = 0 THEN 'queued' WHEN n % 211 = 0 THEN 'failed' ELSE 'done' END AS state,
            now() - (3600.0 * n / $1::bigint) * interval '1 second' AS due
          FROM generate_series(1, $1::bigint) n
        ) AS v
        """,
        [.integer(Int64(count))]
      )
      try await fleet.database.run("ANALYZE @.jobs")
    }
  }
#endif
