// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Steps that run one after the other, each on the previous output, and are undone when a later one fails.
///
/// A chain is immutable: `then` and every modifier return a new chain and leave the original unchanged. You can run it
/// any number of times: with ``run(_:)``, which belongs to the task that awaits it, or with `start`, which starts an
/// unstructured run. A chain can count its runs, cancel them, and wait for their completion.
///
/// Two chains with the same steps are supervised separately. No member is isolated: you can call
/// ``cancelRuns(reason:)`` and ``runsInFlight`` from any thread, and they take effect in the order of the calls.
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
  /// This method does not refuse new runs. It returns early when the waiting task is cancelled. Do not call it in a
  /// step of the chain: it would wait for that step's run, until it is cancelled.
  public nonisolated(nonsending) func drain() async { await core.counter.drain() }

  /// A token that permanently cancels the runs of this chain and of all chains derived from it, or from which it is
  /// derived.
  ///
  /// The token is created on first access, and is meant for a chain that serves one piece of work. Cancelling it
  /// interrupts runs made by `start`, and plain runs that start after the first access, immediately. A plain run that
  /// started earlier stops at its next step.
  public nonisolated var cancellationToken: CancellationToken { path.registry.token }
}
