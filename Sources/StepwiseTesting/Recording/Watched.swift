// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// State behind a lock, with tasks that wait until a condition on it holds.
///
/// Bodies and conditions run under the lock: they belong to the test kit, never to a user. Tasks are resumed outside of
/// it.
package final class Watched<State: Sendable>: Sendable {
  private struct Watcher: Sendable {
    let condition: @Sendable (State) -> Bool
    let isMet = Once<Void>()
  }

  private struct Contents: Sendable {
    var state: State
    var watchers: [Watcher] = []

    /// Removes the watchers whose condition holds, in the order of their arrival.
    mutating func takeSatisfied() -> [Watcher] {
      guard !watchers.isEmpty else { return [] }
      var satisfied: [Watcher] = []
      watchers.removeAll { [state] watcher in
        guard watcher.condition(state) else { return false }
        satisfied.append(watcher)
        return true
      }
      return satisfied
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
      return (result, contents.takeSatisfied())
    }
    for watcher in satisfied { watcher.isMet.settle(()) }
    return result
  }

  /// Suspends until the condition holds, or until the waiting task is cancelled.
  package nonisolated(nonsending) func wait(until condition: @escaping @Sendable (State) -> Bool) async {
    let watcher = Watcher(condition: condition)
    let isMet = contents.withLock { contents in
      if condition(contents.state) { return true }
      contents.watchers.append(watcher)
      return false
    }
    guard !isMet, await watcher.isMet.value() == nil else { return }
    contents.withLock { contents in contents.watchers.removeAll { $0.isMet === watcher.isMet } }
  }
}
