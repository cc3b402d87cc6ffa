// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Steps that run one after the other, each on the output of the previous one.
///
/// A chain is immutable: `then` and every modifier return a new chain and leave the original unchanged. It can be run
/// any number of times: by ``run(_:)``, which belongs to the task that awaits it, and by `start`, which starts an
/// unstructured run. It supervises its runs: it counts them, cancels them, and waits for their completion.
///
/// A chain is an actor for its identity: two chains with the same steps are supervised separately. No member is
/// isolated. The only mutable state, the registry of runs, is behind a lock, so that ``cancelRuns(reason:)`` and
/// ``runsInFlight`` take effect in the order of the calls, from any thread, even while every thread of the concurrency
/// pool is busy.
///
/// ```swift
/// let thumbnail = Chain("download") { (url: URL) in try await download(url) }
///   .then("decode") { data in try Image(data) }
///   .onError { error in log(error) }
/// let image = try await thumbnail.run(url)
/// ```
///
/// *Positional* modifiers (`recover`, `retry`, `timeout`, `abandon`, `executor`) cover the steps before them.
/// *Whole-chain* modifiers (`onError`, `finally`, `overlap`) may stand anywhere. To limit a modifier to some steps,
/// append them as a nested chain.
public actor Chain<Input: Sendable, Output: Sendable> {
  @usableFromInline nonisolated let path: Path
  private nonisolated let supervisor = Lock<ChainCore?>(nil)

  @usableFromInline
  init(_ path: Path) {
    self.path = path
  }

  /// What runs this chain, made by the first run: most chains are only a step on the way to another one.
  @usableFromInline nonisolated var core: ChainCore {
    supervisor.withLock { supervisor in
      if let supervisor { return supervisor }
      let new = ChainCore(path)
      supervisor = new
      return new
    }
  }

  // MARK: - Supervision

  /// The number of this chain's runs that have not completed, including those that wait for a slot.
  public nonisolated var runsInFlight: Int { core.counter.count }

  /// Cancels this chain's runs that are in flight; the chain stays usable.
  ///
  /// The cancellation is in effect when this method returns. A run made by `start` is interrupted immediately. A plain
  /// `run` stops at its next step, and the delay before a retry ends immediately.
  ///
  /// - Parameter reason: The reason that `finally`, events and outcomes receive.
  public nonisolated func cancelRuns(reason: String? = nil) { core.cancelRuns(reason: reason) }

  /// Waits until no run is in flight.
  ///
  /// This method does not refuse new runs. It returns early when the waiting task is cancelled. Called in one of the
  /// chain's own steps, it also waits for that step's run, so that only cancellation ends the wait.
  public nonisolated(nonsending) func drain() async { await core.counter.drain() }

  /// A token that permanently cancels the runs of this chain and of all chains derived from it, or from which it is
  /// derived.
  ///
  /// The token is created on first access, and is meant for a chain that serves one piece of work. Cancelling it
  /// interrupts runs made by `start`, and plain runs that start after the first access, immediately. A plain run that
  /// started earlier stops at its next step.
  public nonisolated var cancellationToken: CancellationToken { path.registry.token }
}
