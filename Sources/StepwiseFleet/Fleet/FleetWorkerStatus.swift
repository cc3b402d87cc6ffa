// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// A worker that has a lease.
  public struct FleetWorkerStatus: Hashable, Sendable {
    /// The random number of the registration, as in ``FleetStatus/worker``; a worker that lost its lease registers again.
    public let id: Int64
    /// The name, from ``FleetConfiguration/workerName``.
    public let name: String
    /// The number of jobs that it runs.
    public let runningCount: Int
  }

  extension Fleet {
    /// Returns the workers that have a lease, in the order in which they registered.
    ///
    /// - Returns: The workers.
    /// - Throws: ``PostgresError``.
    @concurrent public func workers() async throws -> [FleetWorkerStatus] {
      let rows = try await database.run(
        """
        SELECT w.id, w.name, count(j.id) FROM @.workers w
        LEFT JOIN @.jobs j ON j.worker = w.id AND j.state = 'running'
        WHERE w.lease_until >= clock_timestamp() GROUP BY w.id ORDER BY w.started_at, w.id
        """
      )
      return rows.map {
        FleetWorkerStatus(id: $0.integer(0) ?? 0, name: $0.text(1) ?? "", runningCount: Int($0.integer(2) ?? 0))
      }
    }
  }
#endif
