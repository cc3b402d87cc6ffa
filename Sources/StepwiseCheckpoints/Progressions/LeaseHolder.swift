// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// Holds the lease of an id; releasing the holder releases the id.
///
/// A lease with a duration is renewed as long as the holder exists, also between stages and while steps compute on all
/// threads of the cooperative pool, by a task that does not retain the holder and ends with it. The lease is lost when its duration has passed since the last renewal, or when the
/// store reports it. A single error of the store does not lose it, and a renewal that hangs does not delay the loss.
final class LeaseHolder: Sendable {
  let lease: CheckpointLease
  private let store: any CheckpointStore
  private let isHeld = Lock(true)
  private let renewal: LeaseRenewal?
  private let renewing: Task<Void, Never>?

  /// Acquires the lease of an id and starts to renew it.
  init(_ id: String, of store: any CheckpointStore, _ clock: LeaseClock) async throws {
    let requested = clock.now()
    let lease = try await store.acquire(id)
    self.lease = lease
    self.store = store
    renewal = lease.duration.map { duration in
      LeaseRenewal(lease, of: store, clock, LeaseTerm(duration, at: requested))
    }
    renewing = renewal.map { renewal in
      clock.isReal ? LeaseThreads.spawn { await renewal.run() } : spawn { await renewal.run() }
    }
  }

  /// Cancelled when the lease is lost; nil for a lease that does not expire.
  var loss: CancellationToken? { renewal?.loss }

  /// Whether the lease is lost, which a process that was suspended for a while may not have noticed.
  var isOver: Bool { renewal?.isOver() ?? false }

  deinit {
    renewing?.cancel()
    if isHeld.withLock({ isHeld in isHeld }) { store.releaseWithoutWaiting(lease) }
  }

  /// Runs the body unless the lease is lost, and cancels the body when the lease is lost, because its value could not
  /// be saved.
  func watching<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
    guard let loss else { return try await body() }
    // If the process was suspended for a while, the stage may run before the renewal that finds the lease over.
    let lost = store.lostLease(of: lease.id)
    if isOver { throw lost }
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask { try await body() }
      group.addTask {
        await loss.waitForCancellation()
        if loss.isCancelled { throw lost }
        return nil
      }
      for try await case let value? in group {
        group.cancelAll()
        return value
      }
      throw CancellationError()
    }
  }

  /// Releases the lease.
  ///
  /// An error of the store does not concern the run, whose stages are saved.
  func release() async {
    renewing?.cancel()
    guard isHeld.withLock({ exchange(&$0, with: false) }) else { return }
    do { try await store.release(lease) } catch { store.releaseWithoutWaiting(lease) }
  }
}

/// Renews a lease until its task is cancelled or the lease is lost.
final class LeaseRenewal: Sendable {
  /// Cancelled when the lease is lost.
  let loss = CancellationToken()
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
  func isOver() -> Bool { loss.isCancelled || proceed() == .stop }

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
    let action = term.withLock { $0.proceed(at: now) }
    if action == .stop { loss.cancel() }
    return action
  }

  private func renew() async {
    while !Task.isCancelled {
      switch proceed() {
      case .renew: await renewOnce()
      case .wait(let time): try? await clock.sleep(time)
      case .stop: return
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
    while !Task.isCancelled, !isOver() { try? await clock.sleep(term.withLock { $0.end }) }
  }
}

/// How long a lease may be relied on, as a value: until its duration has passed since the last successful renewal.
///
/// A renewal counts from the instant at which it was requested, which is not later than the instant at which the store
/// granted it. Times are distances from an origin that the caller chooses.
package struct LeaseTerm: Sendable, Equatable {
  /// The next action of the holder.
  package enum Action: Sendable, Equatable {
    /// Renew the lease now.
    case renew
    /// Do nothing before this time.
    case wait(until: Duration)
    /// Stop: the lease is over.
    case stop
  }

  /// The time at which the lease ends.
  package private(set) var end: Duration
  private let duration: Duration
  /// The time of the next renewal, or of the next attempt at it.
  private var renewal: Duration
  private var isOver = false

  /// Starts the term of a lease; one that ends only with its holder has the longest, so that no sum overflows.
  package init(_ duration: Duration?, at start: Duration) {
    self.duration = min(duration ?? .seconds(1 << 31), .seconds(1 << 31))
    end = start.saturatedSum(self.duration)
    renewal = start.saturatedSum(self.duration / 3)
  }

  /// Returns the action for a time.
  package mutating func proceed(at now: Duration) -> Action {
    isOver = isOver || now >= end
    if isOver { return .stop }
    return now >= renewal ? .renew : .wait(until: renewal)
  }

  /// The store has granted a renewal that was requested at a time.
  ///
  /// A renewal that was granted after the end of the term has no effect, because another holder may have acquired the
  /// id.
  package mutating func renewed(_ duration: Duration?, since start: Duration) {
    if !isOver { self = LeaseTerm(duration, at: start) }
  }

  /// The store could not be reached; the next attempt follows soon.
  package mutating func failed(at now: Duration) { renewal = now.saturatedSum(duration / 12) }

  /// The store reports that the lease is over.
  package mutating func refused() { isOver = true }
}

/// The clock by which the holder of a lease renews it; times are distances from an origin.
struct LeaseClock: Sendable {
  let now: @Sendable () -> Duration
  let sleep: @Sendable (_ end: Duration) async throws -> Void
  /// Whether it is the system's, by which leases are renewed on threads of their own.
  let isReal: Bool

  init<C: Clock<Duration>>(_ clock: C) {
    let origin = clock.now
    now = { origin.duration(to: clock.now) }
    isReal = clock is ContinuousClock
    guard !isReal else {
      sleep = { end in await LeaseThreads.sleep(for: end - origin.duration(to: clock.now)) }
      return
    }
    sleep = { end in try await clock.sleep(until: origin.advanced(by: end), tolerance: nil) }
  }
}
