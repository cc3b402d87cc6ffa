// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import Testing

@Suite(.timeLimit(.minutes(5))) struct SerialTests {
  /// Has its result at once.
  struct Ready: Progression, Codable, Equatable {
    let result: Int?
    @concurrent func next() async throws -> Ready { try completed() }
  }

  @Test
  func `Two runs from one stage do not see each other's results`() async throws {
    let stage = try await Serial([1, 2].map { Ready(result: $0) }).next()
    let one = try await stage.next()
    let other = try await stage.next()
    #expect(one == other)
    #expect(one.results == [1] && other.results == [1])
    for stage in [one, other] { #expect(try await stage.run() == [1, 2]) }
  }
}
