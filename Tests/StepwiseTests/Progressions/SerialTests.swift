// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import Testing

@Suite(.timeLimit(.minutes(5))) struct SerialTests {
  /// Has its result at once.
  struct Ready: Progression, Codable, Hashable {
    let result: Int?
    @concurrent func next() async throws -> Ready { try completed() }
  }

  @Test("Two runs from one stage do not see each other's results")
  func branches() async throws {
    let stage = try await Serial([1, 2].map { Ready(result: $0) }).next()
    let one = try await stage.next()
    let other = try await stage.next()
    #expect(one == other && one.hashValue == one.hashValue)
    guard case .running(_, _, let results) = one, case .running(_, _, let otherResults) = other else {
      Issue.record("\(one), \(other)")
      return
    }
    #expect(results == [1] && otherResults == [1])
    for stage in [one, other] { #expect(try await stage.run() == [1, 2]) }
  }
}
