// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Steps that run one after the other, each on the output of the one before.
///
/// A chain is a value in spirit: `then` and every modifier return a new chain and leave the old one as it was. It can be run
/// any number of times, by ``run(_:)``, which belongs to the Task that awaits it, and by `start`, which begins a run that
/// lives by itself. As an actor it supervises its own runs: how many are in flight, cancelling them, waiting for their end.
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

  /// The number of this chain's runs that have not ended, those that wait for their turn included.
  public var runsInFlight: Int { core.flight.count }

  /// Cancels this chain's runs that are in flight; the chain stays usable.
  ///
  /// What `start` began is interrupted at once; a plain `run` stops at its next step.
  ///
  /// - Parameter reason: Why, for those who are told.
  public func cancelRuns(reason: String? = nil) { core.cancelRuns(reason: reason) }

  /// Waits until no run is in flight.
  ///
  /// It refuses no new run, and returns early when the Task that waits is cancelled. Called from inside one of the chain's
  /// own steps it waits for that step's run too, which never ends then.
  public func drain() async { await core.flight.drain() }

  /// Ends this chain's runs, and those of all chains derived from it or that it is derived from, for good.
  ///
  /// The token is made on first use and meant for a chain that is made for one piece of work. Runs made by `start`, and
  /// plain runs that begin after the token was taken, are interrupted at once when it is cancelled; a plain run that began
  /// before stops at its next step.
  public nonisolated var cancellationToken: CancellationToken { core.family.token }
}
