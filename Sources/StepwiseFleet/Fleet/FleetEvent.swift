// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// Something in a worker that its operator may want in a log.
  ///
  /// Further cases may be added, so end a `switch` over it with `default`.
  public enum FleetEvent: Sendable {
    /// The worker could not claim jobs; it tries again unless the error is permanent.
    case claimFailed(any Error)

    /// The worker could not register, renew its lease, or look for cancellations and schedules; it tries again unless the
    /// error is permanent.
    case heartbeatFailed(any Error)
  }
#endif
