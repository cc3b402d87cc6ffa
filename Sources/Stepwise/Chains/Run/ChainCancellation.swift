// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What cancels all runs of a chain.
struct ChainCancellation: Sendable {
  /// Has the token of the chain, if one was made.
  let runs: any TokenOwner
  /// Cancelled by `cancelRuns`.
  let generation: CancellationToken

  var isRequested: Bool { generation.isCancelled || runs.tokenIfTaken?.isCancelled ?? false }
  var request: Cancellation? { runs.tokenIfTaken?.request ?? generation.request }
}

/// Makes a token when it is asked for one.
protocol TokenOwner: AnyObject, Sendable {
  var tokenIfTaken: CancellationToken? { get }
}
