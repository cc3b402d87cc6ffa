// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseTesting
import Testing

@testable import Stepwise

/// A million handlers on one token: each is called or removed in constant time, and none is left.
///
/// A debug build shows it with a fifth. The limit is generous for that, and out of reach for anything that grows with the square.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct ManyHandlersTests {
  private static let count = scaled(1_000_000)

  private let token = CancellationToken()
  private let calls = Tally()

  @Test func `A million handlers are each called once`() async {
    await onForeignThread { [token, calls] in
      for _ in 0..<Self.count { token.onCancel { _ in calls.add(1) } }
      #expect(token.cancel())
      #expect(calls.total == Self.count)
      #expect(!token.cancel())
      #expect(calls.total == Self.count)
    }
  }

  @Test
  func `Of a million handlers, those not removed are called in order`() async {
    await onForeignThread { [token, calls] in
      let previous = Tally()
      let registrations = (0..<Self.count).map { index in
        token.onCancel { _ in
          calls.add(index.isMultiple(of: 2) || previous.total > index ? Self.count : 1)
          previous.add(index - previous.total)
        }
      }
      for index in stride(from: 0, to: Self.count, by: 2) { registrations[index].remove() }
      token.cancel()
      #expect(calls.total == Self.count / 2)
    }
  }

  @Test(arguments: RemovalOrder.allCases)
  func `Many handlers are removed in any order`(_ order: RemovalOrder) async {
    let count = Self.count / 5
    await onForeignThread { [token, calls] in
      let registrations = (0..<count).map { _ in token.onCancel { _ in calls.add(1) } }
      for index in order.indices(count) { registrations[index].remove() }
      #expect(token.handlerCount == 0)
      token.cancel()
      #expect(calls.total == 0)
    }
  }

  @Test func `Handlers that come and go leave nothing`() async {
    let count = Self.count / 10
    await onForeignThread { [token] in
      let tracker = LifetimeTracker()
      for _ in 0..<count {
        let tracked = tracker.track()
        token.onCancel { _ in withExtendedLifetime(tracked) {} }.remove()
      }
      #expect(tracker.made == count)
      #expect(tracker.alive == 0)
      #expect(token.handlerCount == 0)
    }
  }

  enum RemovalOrder: CaseIterable {
    case oldestFirst, newestFirst, random

    func indices(_ count: Int) -> [Int] {
      var generator = SeededGenerator(seed: 1)
      return switch self {
      case .oldestFirst: Array(0..<count)
      case .newestFirst: (0..<count).reversed()
      case .random: (0..<count).shuffled(using: &generator)
      }
    }
  }
}
