// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
  import StepwiseCheckpoints

  /// Runs progressions on many machines, over one PostgreSQL.
  ///
  /// ```swift
  /// let fleet = Fleet("host=db.internal dbname=work")
  /// fleet.register(Import.self)
  /// try await fleet.enqueue(Import.start(file), id: "import-42")
  /// try await withTerminationSignals { try await fleet.work() }  // in each worker
  /// let result = try await fleet.result(of: "import-42", as: Import.self)  // anywhere
  /// ```
  ///
  /// A job is a progression under an id. Each stage is saved before the next one runs: a worker that dies repeats at
  /// most the stage in progress, elsewhere. Locks, time and fencing numbers are the database's. A worker holds its jobs
  /// while it sends heartbeats; when its lease is over, another worker resumes them, and what it writes later changes
  /// nothing.
  ///
  /// The first operation creates the tables, as ``PostgresCheckpointStore`` does. A statement that a broken connection
  /// cut off is sent again; running it twice has the same effect. All members may be used from any thread.
  public final class Fleet: Sendable {
    let configuration: FleetConfiguration
    let database: PostgresDatabase
    let hub: FleetHub
    let registrations = Lock<[String: FleetRegistration]>([:])

    /// Creates a fleet, which connects on first use.
    ///
    /// - Parameters:
    ///   - connectionString: The connection string of libpq: keywords and values, or a URI; libpq handles TLS.
    ///   - configuration: The configuration of this process.
    public init(_ connectionString: String, configuration: FleetConfiguration = FleetConfiguration()) {
      self.configuration = configuration
      database = PostgresDatabase(
        connectionString,
        schema: configuration.schema,
        maxConnections: configuration.maxConnections
      )
      hub = FleetHub(configuration.listens ? connectionString : nil, channel: configuration.schema)
    }

    deinit { hub.stop() }

    /// Lets the workers of this process run progressions of a type, under its name and version.
    ///
    /// Both are those of a `VersionedProgression`, and else the type's own name and version 0. A worker claims no job
    /// whose stage was stored by a higher version than it knows: you can run two versions at once during an upgrade.
    /// Register before ``work(until:onEvent:)``.
    ///
    /// - Parameters:
    ///   - type: The progression type.
    ///   - retry: How often each stage is attempted and how long the job waits in between; `maxElapsed` is not used.
    ///   - limits: How many jobs of the type run and start at once, over the whole fleet.
    public func register<P: Progression & Codable>(
      _ type: P.Type,
      retry: RetryPolicy = RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .seconds(1), cap: .seconds(600))),
      limits: FleetLimits = .none
    ) {
      let registration = FleetRegistration(type, retry: retry, limits: limits)
      registrations.withLock { $0[registration.name] = registration }
    }
  }
#endif
