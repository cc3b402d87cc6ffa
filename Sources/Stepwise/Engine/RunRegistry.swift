// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// The state that a chain shares with the chains derived from it: the token, and the runs that it can interrupt.
final class RunRegistry: Sendable {
  private let isTaken = Atomic(false)
  private let madeToken = Lock<CancellationToken?>(nil)
  private let runs = Lock(OrderedSlots<StartedRun>())

  /// The token, if it has been accessed.
  var tokenIfTaken: CancellationToken? {
    isTaken.load(ordering: .acquiring) ? madeToken.withLock { $0 } : nil
  }

  var isTokenTaken: Bool { isTaken.load(ordering: .acquiring) }

  /// The token, created on first access.
  ///
  /// It has one listener, which cancels all runs.
  var token: CancellationToken {
    let (token, isNew) = madeToken.withLock { made in
      if let made { return (made, false) }
      let token = CancellationToken()
      made = token
      isTaken.store(true, ordering: .releasing)
      return (token, true)
    }
    if isNew { _ = token.listen { [weak self] reason in self?.cancelRuns(reason: reason) { _ in true } } }
    return token
  }

  /// Adds a run that a cancellation interrupts immediately.
  func add(_ run: StartedRun) -> OrderedSlots<StartedRun>.Key {
    runs.withLock { $0.append(run) }
  }

  func remove(_ key: OrderedSlots<StartedRun>.Key) {
    runs.withLock { $0.remove(key) }
  }

  func cancelRuns(reason: String?, where isMeant: (StartedRun) -> Bool) {
    let runs = runs.withLock { runs in
      var all: [StartedRun] = []
      runs.forEach { _, run in all.append(run) }
      return all
    }
    for run in runs where isMeant(run) { _ = run.cancel(reason: reason) }
  }
}
