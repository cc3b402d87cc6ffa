// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Steps that run one after the other, each on the output of the one before.
///
/// A chain never changes: `then` and every modifier return a new chain and leave the old one as it was. It can be run any
/// number of times, by ``run(_:)``, which belongs to the Task that awaits it, and by `start`, which starts an unstructured
/// run. It supervises its runs: how many are in flight, cancelling them, waiting for their completion.
///
/// A chain is an actor for its identity: chains that were built alike are supervised apart. No member is isolated. What
/// changes, the registry of its runs, is behind a lock, so that ``cancelRuns(reason:)`` and ``runsInFlight`` take effect in
/// the order of the calls, from any thread, also while every thread of the concurrency pool is busy.
///
/// ```swift
/// let thumbnail = Chain("download") { (url: URL) in try await download(url) }
///   .then("decode") { data in try Image(data) }
///   .onError { error in log(error) }
/// let image = try await thumbnail.run(url)
/// ```
///
/// *Positional* modifiers (`recover`, `retry`, `timeout`, `abandon`, `executor`) cover the steps before them. *Whole-chain*
/// ones (`onError`, `finally`, `overlap`) may stand anywhere. A nested chain, given to `then`, is the parenthesis.
public actor Chain<Input: Sendable, Output: Sendable> {
  @usableFromInline nonisolated let core: ChainCore

  @usableFromInline
  init(core: ChainCore) {
    self.core = core
  }

  // MARK: - Supervision

  /// The number of this chain's runs that are not completed, those that wait for their turn included.
  public nonisolated var runsInFlight: Int { core.counter.count }

  /// Cancels this chain's runs that are in flight, before this returns; the chain stays usable.
  ///
  /// A run made by `start` is interrupted at once; a plain `run` stops at its next step, and its backoff ends at once.
  ///
  /// - Parameter reason: The reason that `finally`, events and outcomes receive.
  public nonisolated func cancelRuns(reason: String? = nil) { core.cancelRuns(reason: reason) }

  /// Waits until no run is in flight.
  ///
  /// It refuses no new run, and returns early when the waiting Task is cancelled. Awaited in one of the chain's own steps
  /// it also waits for that step's run, so that only cancellation ends the wait.
  public nonisolated(nonsending) func drain() async { await core.counter.drain() }

  /// Ends this chain's runs, and those of all chains derived from it or that it is derived from, for good.
  ///
  /// The token is made on first use and meant for a chain that is made for one piece of work. Runs made by `start`, and
  /// plain runs that begin after the token was taken, are interrupted at once when it is cancelled; a plain run that began
  /// before stops at its next step.
  public nonisolated var cancellationToken: CancellationToken { core.registry.token }
}
