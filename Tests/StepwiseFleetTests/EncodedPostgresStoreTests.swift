// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Foundation
  import Stepwise
  import StepwiseCheckpoints
  import StepwiseTesting
  import Testing

  @testable import StepwiseFleet

  /// An encoded store over the table of a database.
  @Suite(.timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct EncodedPostgresStoreTests {
    private let schema = "encoded-\(UUID().uuidString)"

    private func mask(_ name: String, _ key: UInt8) -> PayloadCodec {
      PayloadCodec(name: name) { bytes in
        bytes.map { $0 ^ key }
      } decode: { bytes in
        bytes.map { $0 ^ key }
      }
    }

    private var table: PostgresCheckpointStore { PostgresCheckpointStore(server ?? "", schema: schema) }

    // G248
    @Test func `An encoded store over a table passes the conformance suite`() async throws {
      let (table, codec) = (table, mask("mask", 0x5a))
      try await checkCheckpointStore(EncodedCheckpointStore(table, codec: codec)) {
        EncodedCheckpointStore(table, codec: codec)
      }
    }

    /// Returns how many records contain a text.
    private func records(with text: String) async throws -> Int64? {
      let database = PostgresDatabase(server ?? "", schema: schema, maxConnections: 1)
      let rows = try await database.run(
        "SELECT count(*) FROM @.checkpoints WHERE position($1::bytea IN first) > 0 OR position($1::bytea IN stage) > 0",
        [.bytes(Array(text.utf8))]
      )
      return rows.first?.integer(0)
    }

    /// Stops a chain after its first step, and resumes it.
    private func stopAndResume(
      _ id: String,
      in first: some CheckpointStore,
      then second: some CheckpointStore
    ) async throws {
      let (stop, bodies) = (CancellationToken(), Recorder<String>())
      let order = Chain("order") { (card: String) in
        let receipt = try await step("reserve") {
          bodies.record("reserve")
          return "secret receipt of \(card)"
        }
        stop.cancel()
        try await step("ship") { bodies.record("ship") }
        return receipt
      }
      let run = order.start("secret card", id: id, in: first, cancelledBy: stop)
      await #expect(throws: CancellationError.self) { try await run.value }
      #expect(try await order.resume(id: id, in: second) == "secret receipt of secret card")
      #expect(bodies.elements == ["reserve", "ship"])
    }

    // G250
    @Test func `A chain resumes with the codec that follows, and no value is readable in the table`() async throws {
      let (old, new) = (mask("old", 0x5a), mask("new", 0xa5))
      let rotated = EncodedCheckpointStore(table, codec: new, previous: [old])
      try await stopAndResume("encoded", in: EncodedCheckpointStore(table, codec: old), then: rotated)
      #expect(try await records(with: "secret") == 0)
      #expect(try await records(with: "new") == 1)
      try await stopAndResume("plain", in: table, then: table)
      #expect(try await records(with: "secret") == 1)
    }
  }
#endif
