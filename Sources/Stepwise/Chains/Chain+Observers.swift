// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

extension Chain {
  /// Notifies an observer of the runs of this chain.
  ///
  /// It covers the whole chain that this method returns, at any position, including nested chains. A chain may have
  /// several observers, which are called in the order in which they were attached.
  ///
  /// - Parameter observer: Receives the events of each run.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func observed(by observer: some RunObserver) -> Chain {
    Chain(path.identified(by: ChainIdentity(name: path.identity?.name, observers: path.observers + [observer])))
  }

  /// Names the chain, for observers and traces.
  ///
  /// Without a name, a run has the names of its first and last step. A chain derived from this one has the same name.
  ///
  /// - Parameter name: The name of the runs of this chain.
  /// - Returns: A new chain; this one is unchanged.
  public nonisolated func named(_ name: String) -> Chain {
    Chain(path.identified(by: ChainIdentity(name: name, observers: path.observers)))
  }
}
