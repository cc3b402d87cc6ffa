// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  /// Tells an orchestrator whether the worker of this process can run jobs.
  public struct FleetHealth: Hashable, Sendable {
    /// Why the worker cannot run jobs; nil when it can.
    public let problem: String?
    /// The number of the registration, as in ``FleetStatus/worker``; nil when there is none.
    public let worker: Int64?
    /// The number of jobs that run in this process, parked ones included.
    public let runningCount: Int
    /// A Boolean value that indicates whether the worker drains: it claims no further job.
    public let isDraining: Bool

    /// A Boolean value that indicates whether the worker has its lease; a draining worker that has it is healthy.
    public var isHealthy: Bool { problem == nil }
  }

  extension Fleet {
    /// The health of the worker that ``work(until:onEvent:)`` runs in this process.
    ///
    /// Return it from your own probe: it sends no statement and suspends nowhere. A worker is unhealthy before it has
    /// registered, and when its lease is over because the server did not answer. Without code of yours,
    /// `stepctl fleet health --worker <name>` asks the database for the worker's lease.
    public var health: FleetHealth {
      let workers = workers.withLock { $0 }.compactMap(\.worker)
      return workers.map(\.health).min { !$0.isHealthy && $1.isHealthy }
        ?? FleetHealth(problem: "no worker runs in this process", worker: nil, runningCount: 0, isDraining: false)
    }

    /// Lets the health know of a worker while it runs.
    func withHealth<Value>(of worker: FleetWorker, _ body: () async throws -> Value) async rethrows -> Value {
      let entry = WeakWorker(worker)
      workers.withLock { $0.append(entry) }
      defer { workers.withLock { $0.removeAll { $0 === entry } } }
      return try await body()
    }
  }

  /// A worker, which is not retained.
  final class WeakWorker: Sendable {
    private let read: @Sendable () -> FleetWorker?
    var worker: FleetWorker? { read() }

    init(_ worker: FleetWorker) { read = { [weak worker] in worker } }
  }

  extension FleetWorker {
    var health: FleetHealth {
      state.withLock { state in
        let problem = state.failure.map { "\($0)" } ?? (state.term == nil ? "it has no lease" : nil)
        return FleetHealth(
          problem: problem,
          worker: state.term == nil ? nil : state.machine.worker,
          runningCount: state.jobs.count,
          isDraining: state.machine.isDraining
        )
      }
    }
  }
#endif
