// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct ResolverMachineTests {
  enum Event: CaseIterable {
    /// The body has thrown, or the resolver is released.
    case end
    case call, cancel, register, registerLate
  }

  enum Answer: Equatable {
    case settle
    /// A first call that is late, with or without a handler for it.
    case late(Bool)
    case misuse(Int)
    case ended
    /// The cancel is the first; so many handlers are called.
    case cancelled(Int)
    /// The handler is called at once.
    case callAtOnce
    case nothing
  }

  private static func answers(to events: [Event]) -> [Answer] {
    var machine = ResolverMachine<Int>()
    return events.map { event in
      switch event {
      case .call:
        switch machine.call() {
        case .settle: return .settle
        case .late(let handler): return .late(handler != nil)
        case .misuse(let count): return .misuse(count)
        }
      case .end: return machine.end() == nil ? .nothing : .ended
      case .cancel:
        let handlers = machine.end(cancelledBy: Cancellation(reason: "stop"))
        return handlers.map { .cancelled($0.count) } ?? .nothing
      case .register: return machine.register({ _ in })?.reason == "stop" ? .callAtOnce : .nothing
      case .registerLate:
        _ = machine.registerLate { _ in }
        return .nothing
      }
    }
  }

  @Test(
    arguments: [
      ([.call], [.settle]),
      ([.call, .call, .call], [.settle, .misuse(2), .misuse(3)]),
      ([.call, .cancel], [.settle, .nothing]),
      ([.call, .end], [.settle, .nothing]),
      ([.call, .register], [.settle, .nothing]),
      ([.registerLate, .call, .call], [.nothing, .settle, .misuse(2)]),
      ([.cancel], [.cancelled(0)]),
      ([.register, .register, .cancel, .cancel], [.nothing, .nothing, .cancelled(2), .nothing]),
      ([.cancel, .register], [.cancelled(0), .callAtOnce]),
      ([.cancel, .call, .call], [.cancelled(0), .late(false), .misuse(2)]),
      ([.registerLate, .cancel, .call, .call], [.nothing, .cancelled(0), .late(true), .misuse(2)]),
      ([.cancel, .registerLate, .call], [.cancelled(0), .nothing, .late(true)]),
      ([.cancel, .call, .registerLate, .call], [.cancelled(0), .late(false), .nothing, .misuse(2)]),
      ([.cancel, .end], [.cancelled(0), .nothing]),
      ([.end], [.ended]),
      ([.end, .cancel], [.ended, .nothing]),
      ([.end, .call, .call], [.ended, .late(false), .misuse(2)]),
      ([.registerLate, .end, .call], [.nothing, .ended, .late(true)]),
      ([.register, .end, .cancel, .register], [.nothing, .ended, .nothing, .nothing]),
      ([.end, .end], [.ended, .nothing]),
    ] as [([Event], [Answer])]
  )
  func `A resolver answers as the table says`(events: [Event], answers: [Answer]) {
    #expect(Self.answers(to: events) == answers)
  }

  // G84
  /// In any order of events the wait is ended exactly once by whichever came first, calls are counted without a gap, and
  /// only a first call can be late.
  @Test func `A resolver keeps its promises in any order of events`() {
    for seed in seeds(10_000) {
      var generator = SeededGenerator(seed: seed)
      var events: [Event] = []
      for _ in 0..<Int.random(in: 1...12, using: &generator) {
        guard let event = Event.allCases.randomElement(using: &generator) else { continue }
        events.append(event)
      }
      let ends: [Event] = [.call, .end, .cancel]
      let first = events.first { ends.contains($0) }
      var hasEnded = false
      var (calls, handlers) = (0, 0)
      var hasLateHandler = false
      for (event, answer) in zip(events, Self.answers(to: events)) {
        let expected: Answer
        switch event {
        case .call:
          calls += 1
          let isLate = hasEnded && calls == 1
          expected = !hasEnded ? .settle : isLate ? .late(hasLateHandler) : .misuse(calls)
        case .end: expected = hasEnded ? .nothing : .ended
        case .cancel: expected = hasEnded ? .nothing : .cancelled(handlers)
        case .register:
          handlers += 1
          expected = hasEnded && first == .cancel ? .callAtOnce : .nothing
        case .registerLate:
          if calls == 0 { hasLateHandler = true }
          expected = .nothing
        }
        #expect(answer == expected, "seed \(seed): \(events)")
        if ends.contains(event) { hasEnded = true }
      }
    }
  }

  /// The first end returns the handlers, to be released outside the lock.
  @Test(arguments: [Event.call, .end, .cancel])
  func `A resolver retains no cancel handler after its end`(_ event: Event) {
    let tracker = LifetimeTracker()
    var machine = ResolverMachine<Int>()
    let tracked = Lock<LifetimeTracker.Tracked?>(tracker.track())
    _ = machine.register { [tracked = tracked.withLock { $0.take() }] _ in withExtendedLifetime(tracked) {} }
    #expect(tracker.alive == 1)
    switch event {
    case .call: _ = machine.call()
    case .end: _ = machine.end()
    default: _ = machine.end(cancelledBy: Cancellation())
    }
    #expect(tracker.alive == 0)
    withExtendedLifetime(machine) {}
  }
}
