// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseCheckpoints
import StepwiseTesting
import Testing

@Suite struct LeaseTermTests {
  @Test
  func `A lease is renewed a third of its duration after the request`() {
    var term = LeaseTerm(.seconds(30), at: .seconds(100))
    #expect(term.proceed(at: .seconds(100)) == .wait(until: .seconds(110)))
    #expect(term.proceed(at: .seconds(110)) == .renew)
    term.renewed(.seconds(60), since: .seconds(110))
    #expect(term.proceed(at: .seconds(115)) == .wait(until: .seconds(130)))
    #expect(term.end == .seconds(170))
  }

  @Test
  func `After an error, a lease's renewal is soon repeated`() {
    var term = LeaseTerm(.seconds(12), at: .zero)
    term.failed(at: .seconds(4))
    #expect(term.proceed(at: .seconds(4)) == .wait(until: .seconds(5)))
    #expect(term.proceed(at: .seconds(5)) == .renew)
    term.failed(at: .seconds(11))
    #expect(term.proceed(at: .seconds(11)) == .wait(until: .seconds(12)))
    #expect(term.proceed(at: .seconds(12)) == .stop)
  }

  @Test
  func `A lease that is over stays so`() {
    var refused = LeaseTerm(.seconds(12), at: .zero)
    refused.refused()
    var late = LeaseTerm(.seconds(12), at: .zero)
    #expect(late.proceed(at: .seconds(12)) == .stop)
    for var term in [refused, late] {
      term.renewed(.seconds(12), since: .seconds(11))
      term.failed(at: .seconds(11))
      #expect(term.proceed(at: .zero) == .stop)
    }
  }

  @Test
  func `A lease without a duration needs no renewal for years, and none traps`() {
    for duration in [nil, Duration.seconds(Int64.max)] {
      var long = LeaseTerm(duration, at: .seconds(1))
      guard case .wait(let time) = long.proceed(at: .seconds(2)), time > .seconds(365 * 86_400) else {
        Issue.record("\(long)")
        continue
      }
    }
    for duration in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
      var none = LeaseTerm(duration, at: .seconds(1))
      #expect(none.proceed(at: .seconds(1)) == .stop)
    }
  }

  // G110
  /// Against the rule itself: over when the duration has passed since the request of the last renewal that succeeded.
  @Test
  func `A lease ends its duration after the last success, 1,000 seeds`() {
    for seed: UInt64 in 0..<1_000 {
      var random = SeededGenerator(seed: seed)
      let duration = Duration.seconds(Int.random(in: 1...60, using: &random))
      var (term, now, success, isOver) = (LeaseTerm(duration, at: .zero), Duration.zero, Duration.zero, false)
      for _ in 0..<60 {
        let requested = now
        now += .milliseconds(Int.random(in: 0...8_000, using: &random))
        switch Int.random(in: 0..<4, using: &random) {
        case 0 where !isOver && now < success + duration:
          term.renewed(duration, since: requested)
          success = requested
        case 1: term.failed(at: now)
        default: break
        }
        isOver = isOver || now >= success + duration
        let action = term.proceed(at: now)
        #expect((action == .stop) == isOver, "seed \(seed)")
        if case .wait(let time) = action { #expect(time > now && time <= success + duration * 2, "seed \(seed)") }
      }
    }
  }
}
