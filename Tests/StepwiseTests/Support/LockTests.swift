// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Testing

@testable import Stepwise

@Suite(.timeLimit(.minutes(5)))
struct LockTests {
  private final class Counter: Sendable {
    let lock = Lock(0)
  }

  @Test func `No change is lost`() async {
    let counter = Counter()
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<10_000 { counter.lock.withLock { $0 += 1 } }
        }
      }
    }
    #expect(counter.lock.withLock { $0 } == 40_000)
  }

  @Test func `A lock is released after an error`() {
    let counter = Counter()
    #expect(throws: Fault(1)) {
      try counter.lock.withLock { number in
        number = 5
        throw Fault(1)
      }
    }
    #expect(counter.lock.withLock { $0 } == 5)
  }
}
