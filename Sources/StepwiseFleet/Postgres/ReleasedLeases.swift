// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  /// Leases that this process released without waiting, until the database has received the release: any store of the
  /// process may acquire the id.
  enum ReleasedLeases {
    struct Place: Hashable, Sendable {
      let connectionString: String
      let schema: String
      let id: CheckpointID
    }

    private static let fences = Lock<[Place: UInt64]>([:])

    static func fence(at place: Place) -> UInt64? { fences.withLock { $0[place] } }

    static func insert(_ fence: UInt64, at place: Place) { fences.withLock { $0[place] = fence } }

    static func remove(_ fence: UInt64, at place: Place) {
      fences.withLock { fences in if fences[place] == fence { fences[place] = nil } }
    }
  }
#endif
