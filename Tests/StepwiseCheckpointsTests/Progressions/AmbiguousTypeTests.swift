// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints
import Testing

/// Private and local types of one name, which checkpoints could not tell apart.
@Suite(.timeLimit(.minutes(10))) struct AmbiguousTypeTests {
  private let store = MemoryCheckpointStore()

  private func runTrip() async throws -> Int {
    enum Trip: Progression, Codable {
      case begun, done
      var result: Int? { if case .done = self { 1 } else { nil } }
      @concurrent func next() async throws -> Trip { .done }
    }
    return try await Trip.begun.run(id: "a", in: store)
  }

  private func runOtherTrip(id: String) async throws -> String {
    enum Trip: Progression, Codable {
      case begun, done
      var result: String? { if case .done = self { "other" } else { nil } }
      @concurrent func next() async throws -> Trip { .done }
    }
    return try await Trip.begun.run(id: id, in: store)
  }

  private func runNamedTrip() async throws -> Int {
    enum Trip: VersionedProgression {
      static let schemaVersion = 1
      static let migrations: [CheckpointMigration<Trip>] = []
      static let progressionName = "NamedTrip"
      case begun, done
      var result: Int? { if case .done = self { 3 } else { nil } }
      @concurrent func next() async throws -> Trip { .done }
    }
    return try await Trip.begun.run(id: "named", in: store)
  }

  // G107
  @Test
  func `The second private type of a name is refused at its first run`() async throws {
    for _ in 0..<2 { #expect(try await runTrip() == 1) }
    let name = "StepwiseCheckpointsTests.AmbiguousTypeTests.Trip"
    for id in ["a", "b"] {
      let error = await #expect(throws: CheckpointError.self) { _ = try await runOtherTrip(id: id) }
      guard case .ambiguousType(id, "memory", let ambiguous) = error else {
        Issue.record("it is \(String(describing: error))")
        return
      }
      #expect(ambiguous.hasSuffix("Trip"), "\(ambiguous) is not \(name)")
    }
    #expect(try await store.load("b") == nil)
    #expect(try await runTrip() == 1)
    #expect(try await runNamedTrip() == 3)
  }
}
