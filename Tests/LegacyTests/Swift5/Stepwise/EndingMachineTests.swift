// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Testing

@testable import LegacyStepwise

/// The pure parts of a run: how a step with a handler ends, and which call of a closure runs.
@Suite struct EndingMachineTests {
  @Test func theFirstCallEndsTheStepAndLaterOnesAreReported() {
    var machine = EndingMachine()
    #expect(machine.call() == .end)
    #expect(machine.call() == .report(count: 2))
    #expect(machine.closureReturned(isCancelled: true) == .nothing)
    #expect(machine.cancel() == .nothing && machine.abandon() == .nothing)
    #expect(machine.call() == .report(count: 3))
  }

  @Test func aCancelDuringTheClosureEndsTheStepWhenItReturns() {
    var machine = EndingMachine()
    #expect(machine.cancel() == .nothing)
    #expect(machine.abandon() == .nothing)
    #expect(machine.closureReturned(isCancelled: true) == .endCancelled)
    #expect(machine.call() == .ignore)
    #expect(machine.call() == .report(count: 2))
  }

  @Test func aHandlerReleasedDuringTheClosureEndsTheStepWhenItReturns() {
    var machine = EndingMachine()
    #expect(machine.abandon() == .nothing)
    #expect(machine.closureReturned(isCancelled: false) == .endAbandoned)
    #expect(machine.cancel() == .nothing)
  }

  @Test(arguments: 0..<500) func aStepEndsOnceInEveryOrderOfEvents(seed: UInt64) {
    var random = SplitMix(seed: seed)
    var machine = EndingMachine()
    var (ends, hasReturned, isCancelled) = (0, false, false)
    for _ in 0..<12 {
      switch Int.random(in: 0..<4, using: &random) {
      case 0: ends += machine.call() == .end ? 1 : 0
      case 1:
        isCancelled = true
        ends += machine.cancel() == .nothing ? 0 : 1
      case 2: ends += machine.abandon() == .nothing ? 0 : 1
      default:
        let action = hasReturned ? .nothing : machine.closureReturned(isCancelled: isCancelled)
        hasReturned = true
        ends += action == .endCancelled || action == .endAbandoned ? 1 : 0
      }
      #expect(ends <= 1)
    }
    if !hasReturned {
      ends += [.endCancelled, .endAbandoned].contains(machine.closureReturned(isCancelled: false)) ? 1 : 0
    }
    ends += machine.abandon() == .endAbandoned ? 1 : 0
    #expect(ends == 1)
  }

  @Test(arguments: 0..<200) func callsRunOneAtATimeInTheOrderOfArrival(seed: UInt64) {
    var random = SplitMix(seed: seed)
    var queue = CallQueue<Int>()
    var (arrived, ran, isRunning) = (0, [Int](), false)
    for _ in 0..<60 {
      if Bool.random(using: &random) {
        let call = queue.arrive(arrived)
        #expect((call == nil) == isRunning)
        arrived += 1
        if let call { ran.append(call) }
        isRunning = true
      } else if isRunning {
        let call = queue.finish()
        if let call { ran.append(call) }
        isRunning = call != nil
      }
    }
    while isRunning, let call = queue.finish() { ran.append(call) }
    #expect(ran == Array(0..<arrived))
  }
}

/// Random numbers that a seed determines.
private struct SplitMix: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) {
    state = seed
  }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
