// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Synchronization

/// The runs in flight of a family of chains, which share their first element, and the family's token.
final class RunRegistry: Sendable {
  typealias Key = OrderedSlots<Execution>.Key

  private struct State {
    /// Made when it is first needed.
    var token: CancellationToken?
    var runs = OrderedSlots<Execution>()
  }

  private let state = Lock(State())

  var token: CancellationToken {
    if let token = state.withLock({ $0.token }) { return token }
    let new = CancellationToken()
    _ = new.listenFirst { [weak self] in self?.cancel(CancellationRequest(.chainToken, reason: $0)) }
    return state.withLock { $0.token.stored(or: new) }
  }

  /// Adds a run, which is cancelled if the token is.
  func add(_ run: Execution) -> Key {
    let (key, token) = state.withLock { ($0.runs.append(run), $0.token) }
    if let request = token?.request { run.cancel(CancellationRequest(.chainToken, reason: request.reason)) }
    return key
  }

  func remove(_ key: Key) { _ = state.withLock { $0.runs.remove(key) } }

  /// Cancels the runs in flight, or those of one chain.
  func cancel(_ request: CancellationRequest, of chain: ChainCore? = nil) {
    for run in state.withLock({ $0.runs.elements }) where chain == nil || run.core === chain { run.cancel(request) }
  }
}

/// A registry that is made when it is first needed.
// An `AtomicLazyReference` looks up a type whenever it is read. Safety: set once, and released with what stores it.
struct LazyRunRegistry: ~Copyable, Sendable {
  private let made = Atomic<Unmanaged<RunRegistry>?>(nil)

  deinit { made.load(ordering: .acquiring)?.release() }

  var value: RunRegistry {
    if let made = made.load(ordering: .acquiring) { return made.takeUnretainedValue() }
    let new = Unmanaged.passRetained(RunRegistry())
    let made = made.compareExchange(expected: nil, desired: new, ordering: .acquiringAndReleasing)
    guard let earlier = made.original else { return new.takeUnretainedValue() }
    new.release()
    return earlier.takeUnretainedValue()
  }
}
