// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import LegacyGrain
import StepwiseTesting
import Testing

/// The production line of the second edition.
@Suite(.timeLimit(.minutes(5)))
struct ProductionLineTests {
  let begun = Recorder<String>()
  let resolvers = Recorder<@Sendable () -> Void>()

  // The original never counted its active ones, so that its limit did not limit.
  @available(*, deprecated)
  @Test func `No more than the limit run at once`() async {
    let line = ProductionLine<Held>(maxCount: 2, performer: .global())
    line.add((0..<6).map { _ in Held.start(begun: begun, resolvers: resolvers) })

    for count in stride(from: 2, through: 6, by: 2) {
      let waiting = await resolvers.elements(atLeast: count)
      #expect(waiting.count == count)
      #expect(begun.elements.count == count)
      for resolve in waiting.suffix(2) { resolve() }
    }
  }

  @available(*, deprecated)
  @Test func `Nothing begins while the line is suspended`() async {
    let line = ProductionLine<Held>(maxCount: 1) { work in work() }
    line.suspend()
    line.add(.start(begun: begun, resolvers: resolvers))
    line.add(.start(begun: begun, resolvers: resolvers))
    #expect(begun.elements.isEmpty)
    line.clearPending()
    line.add(.start(begun: begun, resolvers: resolvers))
    line.resume()
    for resolve in await resolvers.elements(atLeast: 1) { resolve() }
    line.add(.start(begun: begun, resolvers: resolvers))
    #expect(await resolvers.elements(atLeast: 2).count == 2)
    resolvers.elements.last?()
  }
}
