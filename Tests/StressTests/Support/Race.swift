// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import Stepwise
import Synchronization
import Testing

/// Lets contenders meet on threads of their own, `rounds` times, each time in a new arena.
///
/// All contenders of a round begin at the same moment, as far as there are cores. When they have ended, the referee looks
/// at the arena. A round that a referee finds wrong is reported with what it says, and is the last.
///
/// - Parameters:
///   - rounds: How many rounds.
///   - arena: Makes what they contend for.
///   - contenders: What is done to it, each on a thread of its own.
///   - referee: Says what is wrong, or nil.
func race<Arena: Sendable>(
  rounds: Int = rounds,
  in arena: @escaping @Sendable () -> Arena,
  _ contenders: @Sendable (Arena) -> Void...,
  referee: @escaping @Sendable (Arena) -> String?
) async {
  await withCheckedContinuation { finished in
    Thread.detachNewThread {
      let track = Track<Arena>(contenders: contenders.count)
      for contender in contenders {
        Thread.detachNewThread { track.run(contender) }
      }
      for round in 0..<rounds {
        let arena = arena()
        track.begin(arena)
        if let complaint = referee(arena) {
          Issue.record("round \(round): \(complaint)")
          break
        }
      }
      track.close()
      finished.resume()
    }
  }
}

/// Where the threads of a race meet, round after round.
private final class Track<Arena: Sendable>: Sendable {
  private let contenders: Int
  private let arena = Lock<Arena?>(nil)
  private let round = Atomic(0)
  private let ready = Atomic(0)
  private let ended = Atomic(0)
  private let isClosed = Atomic(false)

  init(contenders: Int) {
    self.contenders = contenders
  }

  /// Runs one round and returns when all contenders have ended.
  func begin(_ newArena: Arena) {
    arena.withLock { $0 = newArena }
    ready.store(0, ordering: .sequentiallyConsistent)
    ended.store(0, ordering: .sequentiallyConsistent)
    round.add(1, ordering: .sequentiallyConsistent)
    wait { self.ended.load(ordering: .sequentiallyConsistent) == self.contenders }
    arena.withLock { $0 = nil }
  }

  func close() {
    isClosed.store(true, ordering: .sequentiallyConsistent)
    round.add(1, ordering: .sequentiallyConsistent)
  }

  /// A contender's thread.
  func run(_ contender: @Sendable (Arena) -> Void) {
    var last = 0
    while true {
      wait { self.round.load(ordering: .sequentiallyConsistent) != last }
      last = round.load(ordering: .sequentiallyConsistent)
      guard !isClosed.load(ordering: .sequentiallyConsistent), let arena = arena.withLock({ $0 }) else { return }
      ready.add(1, ordering: .sequentiallyConsistent)
      wait { self.ready.load(ordering: .sequentiallyConsistent) >= self.contenders }
      autoreleased { contender(arena) }
      ended.add(1, ordering: .sequentiallyConsistent)
    }
  }

  /// Waits as short as can be, and gives way to others before long.
  private func wait(until isOver: () -> Bool) {
    var spins = 0
    while !isOver() {
      spins += 1
      if spins > 200 { sched_yield() }
    }
  }
}

private func autoreleased(_ body: () -> Void) {
  #if canImport(Darwin)
    autoreleasepool(invoking: body)
  #else
    body()
  #endif
}

/// Blocks a thread that is not Swift concurrency's until work in a Task has ended.
func wait<Value: Sendable>(for work: @escaping @Sendable () async -> Value) -> Value {
  let box = Box<Value>()
  Task { box.put(await work()) }
  return box.take()
}

private final class Box<Value: Sendable>: Sendable {
  private let condition = NSCondition()
  private let value = Lock<Value?>(nil)

  func put(_ newValue: Value) {
    condition.withLock {
      value.withLock { $0 = newValue }
      condition.signal()
    }
  }

  func take() -> Value {
    condition.withLock {
      while true {
        if let value = value.withLock({ $0 }) { return value }
        condition.wait()
      }
    }
  }
}
