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
  private struct State {
    var arena: Arena?
    var round = 0
    var running = 0
    var isClosed = false

    /// The arena of the next round, nil after the last; nothing as long as that is open.
    func next(after last: Int) -> Arena?? {
      if isClosed { return .some(nil) }
      return round == last ? .none : .some(arena)
    }
  }

  private let contenders: Int
  private let condition = NSCondition()
  private let state = Lock(State())
  /// How many have come to the line, over all rounds.
  private let ready = Atomic(0)

  init(contenders: Int) {
    self.contenders = contenders
  }

  /// Runs one round and returns when all contenders have ended.
  func begin(_ arena: Arena) {
    change { state in
      state.arena = arena
      state.round += 1
      state.running = contenders
    }
    wait { $0.running == 0 ? () : nil }
    change { $0.arena = nil }
  }

  func close() {
    change { $0.isClosed = true }
  }

  /// A contender's thread.
  func run(_ contender: @Sendable (Arena) -> Void) {
    var last = 0
    while let arena = wait({ $0.next(after: last) }) {
      last += 1
      lineUp(round: last)
      autoreleased { contender(arena) }
      change { $0.running -= 1 }
    }
  }

  /// Waits for the others, as short as can be; with fewer cores than contenders it gives way.
  private func lineUp(round: Int) {
    ready.add(1, ordering: .sequentiallyConsistent)
    var spins = 0
    while ready.load(ordering: .sequentiallyConsistent) < round * contenders {
      spins += 1
      if spins > 1_000 { sched_yield() }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    condition.withLock {
      state.withLock { body(&$0) }
      condition.broadcast()
    }
  }

  private func wait<Value>(_ value: (State) -> Value?) -> Value {
    condition.withLock {
      while true {
        if let value = state.withLock({ value($0) }) { return value }
        condition.wait()
      }
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
