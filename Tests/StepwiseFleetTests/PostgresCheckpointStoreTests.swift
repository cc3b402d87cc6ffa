// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Testing

/// The connection string of a server for tests, or nil when these tests are not enabled.
let server = ProcessInfo.processInfo.environment["STEPWISE_POSTGRES"]

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  import StepwiseFleet
  import StepwiseTesting

  @Suite(.serialized, .timeLimit(.minutes(5)), .enabled(if: server != nil, "STEPWISE_POSTGRES names no server"))
  struct PostgresCheckpointStoreTests {
    private func store(_ schema: String, leaseDuration: Duration = .seconds(30)) -> PostgresCheckpointStore {
      PostgresCheckpointStore(server ?? "", schema: schema, leaseDuration: leaseDuration)
    }

    @Test
    func `The store passes the conformance suite, also beside a second one`() async throws {
      let schema = "the store's conformance \"\(UUID().uuidString)\""
      try await checkCheckpointStore(store(schema)) { store(schema) }
    }

    @Test
    func `Many stores may create the tables at once`() async throws {
      let schema = "migration-\(UUID().uuidString)"
      try await withThrowingTaskGroup { group in
        for number in 0..<12 {
          group.addTask { try await store(schema).release(store(schema).acquire("\(number)")) }
        }
        try await group.waitForAll()
      }
      #expect(try await store(schema).list(after: nil, limit: 10).ids.isEmpty)
    }

    @Test
    func `The error of an unreachable server hides the connection string`() async throws {
      let store = PostgresCheckpointStore("host=127.0.0.1 port=1 user=ann password=secret connect_timeout=2")
      let error = try #require(await #expect(throws: PostgresError.self) { try await store.load("a") })
      #expect(error.code == .connection)
      #expect(!"\(error)".contains("secret"))
    }

    @Test
    func `A progression runs, is interrupted and resumes`() async throws {
      let store = store("run-\(UUID().uuidString)")
      for try await stage in Count.at(0).stages(id: "count", in: store) { if case .at(5) = stage { break } }
      #expect(try await Count.at(0).run(id: "count", in: store) == 9)
    }
  }

  private enum Count: Progression, Codable, Equatable {
    case at(Int)

    func next() async throws -> Count {
      guard case .at(let number) = self, number < 9 else { return try completed() }
      return .at(number + 1)
    }

    var result: Int? { if case .at(9) = self { 9 } else { nil } }
  }
#else
  @Test(.disabled("The trait Postgres is off: there are no tests of StepwiseFleet."))
  func `The fleet is not built without its trait`() {}
#endif
