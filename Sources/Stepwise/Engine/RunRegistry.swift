// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The runs in flight of a family of chains, which share their first element, and the family's token.
final class RunRegistry: Sendable {
  struct Entry {
    let run: Execution
    let chain: ObjectIdentifier
  }

  typealias Key = OrderedSlots<Entry>.Key

  private struct State {
    /// Made when it is first needed.
    var token: CancellationToken?
    var entries = OrderedSlots<Entry>()
  }

  private let state = Lock(State())

  var token: CancellationToken {
    if let token = state.withLock({ $0.token }) { return token }
    let new = CancellationToken()
    // Nothing but the token calls it, so that it exists then.
    _ = new.listenFirst { [weak self, unowned new] in
      self?.cancel(CancellationRequest(.chainToken, reason: $0, by: new.canceller))
    }
    return state.withLock { $0.token.stored(or: new) }
  }

  /// Adds a run of one of the chains, which is cancelled if the token is.
  func add(_ run: Execution, of chain: ObjectIdentifier) -> Key {
    let (key, token) = state.withLock { ($0.entries.append(Entry(run: run, chain: chain)), $0.token) }
    if let token, let request = token.request {
      run.cancel(CancellationRequest(.chainToken, reason: request.reason, by: token.canceller))
    }
    return key
  }

  func remove(_ key: Key) { _ = state.withLock { $0.entries.remove(key) } }

  /// Cancels the runs in flight, or those of one chain.
  func cancel(_ request: CancellationRequest, of chain: ObjectIdentifier? = nil) {
    for entry in state.withLock({ $0.entries.elements }) where chain == nil || entry.chain == chain {
      entry.run.cancel(request)
    }
  }
}
