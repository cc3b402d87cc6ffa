// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

struct Shop: Sendable {
  let log = Recorder<String>()
  let charge: @Sendable (_ order: Int) async throws -> String
}

@Sendable func checkout(_ shop: Shop, clock: any Clock<Duration>) -> Chain<Int, String> {
  Chain("reserve", undo: { (_: Int) in shop.log.record("release") }) { (order: Int) in
    shop.log.record("reserve")
    return order
  }
  .then("charge") { order in try await shop.charge(order) }
  .timeout(.seconds(30), clock: clock)
  .finally { _ in shop.log.record("close") }
}

/// The samples of the page on testing a chain.
@Suite(.timeLimit(.minutes(5)))
struct ChainTestingArticleTests {
  @Test func `A recorder keeps the order`() async throws {
    let shop = Shop { order in "receipt \(order)" }
    #expect(try await checkout(shop, clock: ManualClock()).run(7) == "receipt 7")
    #expect(shop.log.elements == ["reserve", "close"])
  }

  @Test func `A time limit passes without waiting`() async throws {
    let clock = ManualClock()
    let shop = Shop { order in
      try await clock.sleep(for: .seconds(3_600))
      return "receipt \(order)"
    }
    let run = checkout(shop, clock: clock).start(7)
    await clock.sleepers(atLeast: 2)
    clock.advance(by: .seconds(30))
    await #expect(throws: TimeoutError.self) { try await run.value }
    #expect(shop.log.elements == ["reserve", "release", "close"])
  }

  @Test func `A cancelled run ends with its reason`() async throws {
    let clock = ManualClock()
    let shop = Shop { order in
      try await clock.sleep(for: .seconds(1))
      return "receipt \(order)"
    }
    let run = checkout(shop, clock: clock).start(7)
    await clock.sleepers(atLeast: 2)
    run.cancel(reason: "left the screen")
    guard case .cancelled(let cancellation) = await run.outcome else { throw Failure("not cancelled") }
    #expect(cancellation.reason == "left the screen")
    #expect(shop.log.elements == ["reserve", "release", "close"])
  }
}
