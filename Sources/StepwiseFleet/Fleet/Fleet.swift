// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
  public import StepwiseCheckpoints

  /// Runs progressions and chains on many machines, over one PostgreSQL.
  ///
  /// ```swift
  /// let fleet = Fleet("host=db.internal dbname=work")
  /// fleet.register(Import.self)
  /// try await fleet.enqueue(Import.start(file), id: "import-42")
  /// try await withTerminationSignals { try await fleet.work() }  // in each worker
  /// let result = try await fleet.result(of: "import-42", as: Import.self)  // anywhere
  /// ```
  ///
  /// A job is a progression or a run of a chain under an id. Each stage is saved before the next one runs: a worker that dies repeats at
  /// most the stage in progress, elsewhere. Locks, time and fencing numbers are the database's. A worker holds its jobs
  /// while it sends heartbeats; when its lease is over, another worker resumes them, and what it writes later changes
  /// nothing.
  ///
  /// The first operation creates the tables, as ``PostgresCheckpointStore`` does. A statement that a broken connection
  /// cut off is sent again; running it twice has the same effect. All members may be used from any thread.
  public final class Fleet: Sendable {
    let configuration: FleetConfiguration
    let store: any FleetStore
    let hub: FleetHub
    let payloads: FleetPayloads
    /// The workers of this process, for its health.
    let workers = Lock<[WeakWorker]>([])
    /// Single jobs that are enqueued while a statement is under way, and the next one's.
    let enqueuer = Batcher<(batch: FleetBatch, options: FleetOptions), Bool>(isAlike: { one, other in
      one.batch.name == other.batch.name && one.batch.shape == other.batch.shape && one.options == other.options
    })
    let announcer = Batcher<(name: String, count: Int), Void>()
    let registrations = Lock<[String: FleetRegistration]>([:])

    /// Creates a fleet, which connects on first use.
    ///
    /// - Parameters:
    ///   - connectionString: The connection string of libpq: keywords and values, or a URI; libpq handles TLS.
    ///   - configuration: The configuration of this process.
    public init(_ connectionString: String, configuration: FleetConfiguration = FleetConfiguration()) {
      self.configuration = configuration
      payloads = FleetPayloads(configuration)
      store = PostgresStore(connectionString, configuration)
      hub = FleetHub(store)
    }

    /// Creates a fleet in another store.
    init(in store: any FleetStore, _ configuration: FleetConfiguration) {
      self.configuration = configuration
      payloads = FleetPayloads(configuration)
      self.store = store
      hub = FleetHub(store)
    }

    /// The database; nil for a fleet in memory.
    var postgres: PostgresDatabase? { (store as? PostgresStore)?.database }

    /// A Boolean value that indicates whether the database has the tables; reading it creates none.
    package var isInstalled: Bool { get async throws { try await postgres?.isInstalled ?? true } }

    /// The schema that holds the tables.
    package var schemaName: String { configuration.schema }

    /// Lets the workers of this process run progressions of a type, under its name and version.
    ///
    /// Both are those of a `VersionedProgression`, and else the type's own name and version 0. A worker claims no job
    /// whose stage was stored by a higher version than it knows: you can run two versions at once during an upgrade.
    /// Register before ``work(until:onEvent:)``.
    ///
    /// - Parameters:
    ///   - type: The progression type.
    ///   - retry: How often each stage is attempted and how long the job waits in between; `maxElapsed` is not used.
    ///   - limits: How many jobs of the type run and start at once, over the whole fleet, and for how long.
    ///   - isRetryable: Returns whether to retry after an error; otherwise the job is dead-lettered. By default every error
    ///     is retried.
    public func register<P: Progression & Codable>(
      _ type: P.Type,
      retry: RetryPolicy = RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .seconds(1), cap: .seconds(600))),
      limits: FleetLimits = .none,
      isRetryable: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) {
      register(FleetRegistration(type, retry: retry, limits: limits, isRetryable: isRetryable))
    }

    /// Lets the workers of this process run a chain, under its name.
    ///
    /// A run on a fleet is a durable run: the value of each step is stored before the next step begins, and another
    /// worker continues when one dies, with the undos as well. Give the chain a name, because workers find it by the
    /// name. Register before ``work(until:onEvent:)``.
    ///
    /// A step that fails ends the run, and completed steps are undone; use `retry` in the chain for further attempts, and
    /// ``FleetFailurePolicy/hold`` to keep a failed run until you have fixed what failed.
    ///
    /// - Parameters:
    ///   - chain: The chain.
    ///   - version: The highest version of runs that this code knows; workers claim no run of a higher one.
    ///   - retry: How often a run is continued after an undo that failed, changed code, or the death of its worker,
    ///     without a further step having ended.
    ///   - limits: How many runs of the chain run and start at once, over the whole fleet.
    ///   - onFailure: What becomes of a run that fails.
    public func register<Input, Output: Codable & Sendable>(
      _ chain: Chain<Input, Output>,
      version: Int = 0,
      retry: RetryPolicy = RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .seconds(1), cap: .seconds(600))),
      limits: FleetLimits = .none,
      onFailure: FleetFailurePolicy = .undo
    ) {
      register(FleetRegistration(chain, version: version, retry: retry, limits: limits, onFailure: onFailure))
    }

    /// Lets the workers of this process run a chain without an output, under its name.
    ///
    /// It is a job like any other chain; a wait for its result returns when it is done.
    ///
    /// - Parameters:
    ///   - chain: The chain.
    ///   - version: The highest version of runs that this code knows; workers claim no run of a higher one.
    ///   - retry: How often a run is continued after an undo that failed, changed code, or the death of its worker,
    ///     without a further step having ended.
    ///   - limits: How many runs of the chain run and start at once, over the whole fleet.
    ///   - onFailure: What becomes of a run that fails.
    public func register<Input>(
      _ chain: Chain<Input, Void>,
      version: Int = 0,
      retry: RetryPolicy = RetryPolicy(maxAttempts: 5, backoff: .exponential(from: .seconds(1), cap: .seconds(600))),
      limits: FleetLimits = .none,
      onFailure: FleetFailurePolicy = .undo
    ) {
      register(FleetRegistration(chain, version: version, retry: retry, limits: limits, onFailure: onFailure))
    }

    private func register(_ registration: FleetRegistration) {
      registrations.withLock { $0[registration.name] = registration }
    }
  }

  /// Sets how many jobs a process of a fleet runs at once, how it connects, and how long its lease lasts.
  public struct FleetConfiguration: Hashable, Sendable {
    /// The schema that holds the tables; its name has at most 63 bytes of UTF-8.
    public var schema: String
    /// The number of jobs that this process runs at once, at least 1; those whose end is being stored do not count.
    public var slots: Int
    /// How long the process's jobs stay its own after its last heartbeat: at least a second.
    ///
    /// A third of it is the time between heartbeats.
    public var leaseDuration: Duration
    /// The interval at which the process polls for jobs and cancellations without a notification.
    public var pollInterval: Duration
    /// The number of connections that statements share; one more waits for notifications, and one renews the lease.
    ///
    /// Connections without a statement for 5 seconds are closed, apart from one.
    public var maxConnections: Int
    /// The time limit for stages in progress once the process drains; then they are cancelled, and run elsewhere.
    public var drainLimit: Duration
    /// A Boolean value that indicates whether to listen for notifications; false behind a pooler that drops them.
    public var listens: Bool
    /// The name of the worker in the table of workers.
    public var workerName: String
    /// The number of sleeping or waiting jobs whose Tasks this process keeps, besides its slots; further ones are stopped
    /// and run again when their waits are over.
    public var maxParked: Int
    /// How long ago a job has ended when workers remove it, unless it is a dead letter; nil to remove none.
    ///
    /// They look once a minute, and remove at most 1,000 at a time, as ``Fleet/prune(olderThan:states:)`` does.
    public var retention: Duration?
    /// Which jobs of the registered types this process takes, by their tags.
    public var tags: FleetTags
    /// Encodes inputs, stages, the values and outcomes of chains, and signals before they are stored, for example by
    /// encryption; nil to store them as they are.
    ///
    /// What is stored names the codec. Ids, names, keys, tags, notes, reasons of cancellations and the texts of errors are not
    /// encoded, so that operators can read them.
    public var codec: PayloadCodec?
    /// Decode what earlier codecs have encoded; of two codecs with the same name, the first one is used.
    public var previousCodecs: [PayloadCodec]

    /// Creates a configuration; each parameter sets the property of its name, and `previous` the previous codecs.
    public init(
      schema: String = "stepwise",
      slots: Int = 16,
      leaseDuration: Duration = .seconds(30),
      pollInterval: Duration = .seconds(1),
      maxConnections: Int = 4,
      drainLimit: Duration = .seconds(20),
      listens: Bool = true,
      workerName: String = "",
      maxParked: Int = 1_000,
      retention: Duration? = nil,
      tags: FleetTags = .all,
      codec: PayloadCodec? = nil,
      previous: [PayloadCodec] = []
    ) {
      self.schema = schema
      self.slots = max(1, slots)
      self.leaseDuration = max(.seconds(1), leaseDuration)
      self.pollInterval = max(.milliseconds(10), pollInterval)
      self.maxConnections = maxConnections
      self.drainLimit = drainLimit
      self.listens = listens
      self.workerName = workerName
      self.maxParked = max(0, maxParked)
      self.retention = retention
      self.tags = tags
      self.codec = codec
      previousCodecs = previous
    }
  }
#endif
