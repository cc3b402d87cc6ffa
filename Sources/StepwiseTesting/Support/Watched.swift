// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// State behind a lock, with tasks that wait until a condition on it holds.
///
/// Bodies and conditions run under the lock: they belong to the test kit, never to a user. Continuations are resumed
/// outside of it.
package final class Watched<State: Sendable>: Sendable {
  private struct Watcher: Sendable {
    let condition: @Sendable (State) -> Bool
    let continuation: CheckedContinuation<Void, Never>
  }

  private struct Contents: Sendable {
    var state: State
    var watchers = WaitingList<UInt64, Watcher>()
    var arrivals: UInt64 = 0

    mutating func enter() -> UInt64 {
      arrivals += 1
      watchers.enter(arrivals)
      return arrivals
    }

    /// Parks the watcher; returns false when there is nothing to wait for.
    mutating func park(_ key: UInt64, _ watcher: Watcher) -> Bool {
      guard watchers.park(key, watcher) else { return false }
      guard watcher.condition(state) else { return true }
      _ = watchers.cancel(key)
      return false
    }
  }

  private let contents: Lock<Contents>

  package init(_ state: State) {
    contents = Lock(Contents(state: state))
  }

  /// Reads the state.
  package func read<Result: Sendable>(_ body: (State) -> Result) -> Result {
    contents.withLock { body($0.state) }
  }

  /// Changes the state, then resumes, outside the lock, the tasks whose condition now holds.
  package func mutate<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    let (result, satisfied) = contents.withLock { contents in
      let result = body(&contents.state)
      let state = contents.state
      return (result, contents.watchers.removeAll { $0.condition(state) })
    }
    for watcher in satisfied {
      watcher.continuation.resume()
    }
    return result
  }

  /// Suspends until the condition holds, or until the waiting task is cancelled.
  package nonisolated(nonsending) func wait(until condition: @escaping @Sendable (State) -> Bool) async {
    guard !read(condition) else { return }
    let key = contents.withLock { $0.enter() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let watcher = Watcher(condition: condition, continuation: continuation)
        if !contents.withLock({ $0.park(key, watcher) }) {
          continuation.resume()
        }
      }
    } onCancel: {
      contents.withLock { $0.watchers.cancel(key) }?.continuation.resume()
    }
  }
}
