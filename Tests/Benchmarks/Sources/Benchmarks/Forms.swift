// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The forms in which the same steps can be run.
struct Forms: Sendable {
  static let byHand = "(a) by hand"
  static let loop = "(b) checked loop"
  static let task = "(c) Task { (b) }.value"
  static let run = "run"
  static let finally = "run, with a finally"
  static let tokenTaken = "run, token taken"
  static let tokenAround = "run, token around"
  static let start = "start().value"
  static let runByHand = "run by hand"
  static let startByHand = "start().value by hand"
  static let tokenByHand = "a token by hand"
  static let tokenAroundByHand = "a token around by hand"
  static let events = "start, events observed"

  let all: [Form]

  init(_ bodies: Bodies, steps: Int) {
    let closures = bodies.closures(steps)
    let chain = bodies.chain(steps)
    let finished = chain.finally { _ in }
    let cancellable = bodies.chain(steps)
    _ = cancellable.cancellationToken
    let token = CancellationToken()
    let handChain = HandChain(closures)
    let (handToken, handRuns) = (HandToken(), HandRuns())
    all = [
      Form(Self.byHand) { times in
        for _ in 0..<times { check(try await bodies.byHand(steps, 0), steps) }
      },
      Form(Self.loop) { times in
        for _ in 0..<times { check(try await looped(over: closures, 0), steps) }
      },
      Form(Self.task) { times in
        for _ in 0..<times { check(try await Task { try await looped(over: closures, 0) }.value, steps) }
      },
      Form(Self.run) { times in
        for _ in 0..<times { check(try await chain.run(0), steps) }
      },
      Form(Self.runByHand) { times in
        for _ in 0..<times { check(try await handChain.run(0), steps) }
      },
      Form(Self.finally) { times in
        for _ in 0..<times { check(try await finished.run(0), steps) }
      },
      Form(Self.tokenTaken) { times in
        for _ in 0..<times { check(try await cancellable.run(0), steps) }
      },
      Form(Self.tokenAround) { times in
        for _ in 0..<times { check(try await withCancellation(by: token) { try await chain.run(0) }, steps) }
      },
      Form(Self.start) { times in
        for _ in 0..<times { check(try await chain.start(0).value, steps) }
      },
      Form(Self.startByHand) { times in
        for _ in 0..<times { check(try await HandRun.start(closures, 0, in: handRuns).value, steps) }
      },
      Form(Self.tokenByHand) { times in
        for _ in 0..<times { check(try await handToken.run { try await looped(over: closures, 0) }, steps) }
      },
      Form(Self.tokenAroundByHand) { times in
        for _ in 0..<times { check(try await handToken.run { try await handChain.run(0) }, steps) }
      },
      Form(Self.events) { times in
        for _ in 0..<times {
          let run = chain.start(0)
          for await _ in run.events {}
          check(try await run.value, steps)
        }
      },
    ]
  }
}

private func check(_ result: Int, _ expected: Int) {
  precondition(result == expected, "the steps gave \(result) instead of \(expected)")
}
