// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseTesting
import Testing

/// An overlap policy with several slots.
@Suite(.timeLimit(.minutes(5)))
struct ConcurrentOverlapTests {
  // G175
  @Test(arguments: [-1, 1, 2, 4]) func `At most as many runs as the limit are in flight, in order`(limit: Int) async {
    let (log, gate) = (Recorder<Int>(), Turnstile())
    let chain = Chain("work") { (number: Int) in
      log.record(number)
      await gate.passWhateverHappens()
    }
    .overlap(.concurrent(max: limit))
    let runs = (0..<10).map { chain.start($0) }
    let slots = max(1, limit)
    await gate.visitors(atLeast: slots)
    for _ in 0..<50 { await Task.yield() }
    #expect(log.elements.sorted() == Array(0..<slots))
    #expect(chain.runsInFlight == 10)
    gate.open()
    for run in runs { _ = await run.outcome }
    #expect(log.elements.count == 10)
    if slots == 1 { #expect(log.elements == Array(0..<10)) }
    #expect(chain.runsInFlight == 0)
  }

  // G175
  @Test func `A run that waits and is cancelled leaves at once, and the next one starts`() async throws {
    let gate = Turnstile()
    let log = Recorder<Int>()
    let chain = Chain("work") { (number: Int) in
      log.record(number)
      try await gate.pass()
    }
    .overlap(.concurrent(max: 2))
    let runs = (0..<4).map { chain.start($0) }
    await gate.visitors(atLeast: 2)
    runs[2].cancel(reason: "left")
    #expect(await runs[2].outcome.brief == "cancelled left")
    #expect(chain.runsInFlight == 3)
    runs[0].cancel()
    await gate.visitors(atLeast: 3)
    #expect(log.elements.last == 3)
    gate.open()
    try await runs[1].value
    try await runs[3].value
  }

  // G175
  @Test(arguments: [1, 2, 3]) func `A step that waits for slots which runs around it hold is reentrant`(limit: Int)
    async throws
  {
    let itself = Watched<Chain<Int, Int>?>(nil)
    let chain = Chain("nested") { (depth: Int) -> Int in
      guard let chain = itself.read({ $0 }), depth < 5 else { return depth }
      do { return try await chain.run(depth + 1) } catch ChainError.reentrant { return depth }
    }
    .overlap(.concurrent(max: limit))
    itself.mutate { $0 = chain }
    #expect(try await chain.run(1) == limit)
    itself.mutate { $0 = nil }
  }
}
