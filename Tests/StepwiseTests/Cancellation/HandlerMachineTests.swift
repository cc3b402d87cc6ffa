// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct HandlerMachineTests {
  /// What can happen to a handler, with the thread it happens on.
  enum Event: Hashable, CustomStringConvertible {
    case begin(UInt)
    case end
    case remove(UInt)

    var description: String {
      switch self {
      case .begin(let thread): "begin on \(thread)"
      case .end: "end"
      case .remove(let thread): "remove on \(thread)"
      }
    }
  }

  enum Answer: Hashable {
    /// The handler is to be called.
    case call
    /// It is not to be called, or there is nothing more to do.
    case nothing
    /// It was removed before it was called.
    case release
    case wait
  }

  private static func answers(to events: [Event]) -> [Answer] {
    var machine = HandlerMachine { _ in }
    return events.map { event in
      switch event {
      case .begin(let thread): return machine.begin(on: thread) == nil ? .nothing : .call
      case .end:
        _ = machine.end()
        return .nothing
      case .remove(let thread):
        switch machine.remove(on: thread) {
        case .nothing: return .nothing
        case .release: return .release
        case .wait: return .wait
        }
      }
    }
  }

  @Test(
    arguments: [
      ([.begin(1)], [.call]),
      ([.begin(1), .begin(2)], [.call, .nothing]),
      ([.begin(1), .end, .begin(1)], [.call, .nothing, .nothing]),
      ([.remove(1)], [.release]),
      ([.remove(1), .begin(1)], [.release, .nothing]),
      ([.remove(1), .remove(2), .begin(2)], [.release, .nothing, .nothing]),
      ([.begin(1), .remove(1)], [.call, .nothing]),
      ([.begin(1), .remove(2)], [.call, .wait]),
      ([.begin(1), .remove(2), .remove(1), .remove(3)], [.call, .wait, .nothing, .wait]),
      ([.begin(1), .end, .remove(2)], [.call, .nothing, .nothing]),
      ([.begin(1), .end, .remove(1)], [.call, .nothing, .nothing]),
      ([.begin(1), .remove(2), .end, .remove(2)], [.call, .wait, .nothing, .nothing]),
    ] as [([Event], [Answer])]
  )
  func answersAsTheTableSays(events: [Event], answers: [Answer]) {
    #expect(Self.answers(to: events) == answers)
  }

  /// In any order of events the handler is begun once at most, never after a removal, and a removal waits exactly while
  /// it runs on another thread.
  @Test func keepsItsPromisesInAnyOrderOfEvents() {
    for seed in seeds(10_000) {
      var generator = SeededGenerator(seed: seed)
      var running: UInt?
      var begun = false
      var removed = false
      var events: [Event] = []
      var expected: [Answer] = []
      for _ in 0..<Int.random(in: 1...12, using: &generator) {
        let thread = UInt.random(in: 1...3, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0:
          events.append(.begin(thread))
          expected.append(begun || removed ? .nothing : .call)
          if !begun, !removed { (begun, running) = (true, thread) }
        case 1 where running != nil:
          events.append(.end)
          expected.append(.nothing)
          running = nil
        default:
          events.append(.remove(thread))
          if !begun, !removed {
            removed = true
            expected.append(.release)
          } else {
            expected.append(running == nil || running == thread ? .nothing : .wait)
          }
        }
      }
      #expect(Self.answers(to: events) == expected, "seed \(seed): \(events)")
    }
  }

  @Test func theHandlerIsReleasedWhenItBeginsAndWhenItIsRemoved() {
    let tracker = LifetimeTracker()
    var begun = HandlerMachine { [tracked = tracker.track()] _ in withExtendedLifetime(tracked) {} }
    do { _ = begun.begin(on: 1) }
    #expect(tracker.alive == 0)
    var removed = HandlerMachine { [tracked = tracker.track()] _ in withExtendedLifetime(tracked) {} }
    _ = removed.remove(on: 1)
    #expect(tracker.alive == 0)
    withExtendedLifetime((begun, removed)) {}
  }
}
