// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Renews a lease until its task is cancelled or the lease is lost.
final class LeaseRenewal: Sendable {
  /// Settled when the lease is lost.
  let loss = Once<Void>()
  private let lease: CheckpointLease
  private let store: any CheckpointStore
  private let clock: LeaseClock
  private let term: Lock<LeaseTerm>

  init(_ lease: CheckpointLease, of store: any CheckpointStore, _ clock: LeaseClock, _ term: LeaseTerm) {
    self.lease = lease
    self.store = store
    self.clock = clock
    self.term = Lock(term)
  }

  /// Returns whether the lease is over.
  func isOver() -> Bool {
    if loss.settled == nil, proceed() == .stop { loss.settle(()) }
    return loss.settled != nil
  }

  /// Renews the lease and concurrently waits for its end, so that a renewal that hangs does not hide the loss.
  @concurrent
  func run() async {
    await withTaskGroup { group in
      group.addTask { await self.renew() }
      group.addTask { await self.watch() }
      await group.next()
      group.cancelAll()
    }
  }

  private func proceed() -> LeaseTerm.Action {
    let now = clock.now()
    return term.withLock { $0.proceed(at: now) }
  }

  private func renew() async {
    while !Task.isCancelled {
      switch proceed() {
      case .renew: await renewOnce()
      case .wait(let time): try? await clock.sleep(time)
      case .rest: return
      case .stop:
        loss.settle(())
        return
      }
    }
  }

  private func renewOnce() async {
    let start = clock.now()
    do {
      let renewed = try await store.renew(lease)
      term.withLock { $0.renewed(renewed.duration, since: start) }
    } catch CheckpointError.lostLease {
      term.withLock { $0.refused() }
    } catch {
      let now = clock.now()
      term.withLock { $0.failed(at: now) }
    }
  }

  private func watch() async {
    while !Task.isCancelled, !isOver(), let end = term.withLock({ $0.end }) {
      try? await clock.sleep(end)
    }
  }
}
