// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// Configures a process of a fleet: its slots, its connections and its lease.
  public struct FleetConfiguration: Hashable, Sendable {
    /// The schema that holds the tables; its name has at most 63 bytes of UTF-8.
    public var schema: String
    /// The number of jobs that this process runs at once.
    public var slots: Int
    /// How long the process's jobs stay its own after its last heartbeat; a third of it is the time between heartbeats.
    public var leaseDuration: Duration
    /// The interval at which the process polls for jobs and cancellations without a notification.
    public var pollInterval: Duration
    /// The number of connections that statements share; one more waits for notifications.
    public var maxConnections: Int
    /// The time limit for stages in progress once the process drains; then they are cancelled, and run elsewhere.
    public var drainLimit: Duration
    /// A Boolean value that indicates whether to listen for notifications; false behind a pooler that drops them.
    public var listens: Bool
    /// The name of the worker in the table of workers.
    public var workerName: String

    /// Creates a configuration.
    ///
    /// - Parameters:
    ///   - schema: The schema that holds the tables.
    ///   - slots: The number of jobs that this process runs at once; at least 1.
    ///   - leaseDuration: How long the process's jobs stay its own after its last heartbeat; at least a second.
    ///   - pollInterval: The interval at which the process polls for jobs and cancellations without a notification.
    ///   - maxConnections: The number of connections that statements share.
    ///   - drainLimit: The time limit for stages in progress once the process drains.
    ///   - listens: Whether the process listens for notifications.
    ///   - workerName: The name of the worker in the table of workers.
    public init(
      schema: String = "stepwise",
      slots: Int = 16,
      leaseDuration: Duration = .seconds(30),
      pollInterval: Duration = .seconds(1),
      maxConnections: Int = 4,
      drainLimit: Duration = .seconds(20),
      listens: Bool = true,
      workerName: String = ""
    ) {
      self.schema = schema
      self.slots = max(1, slots)
      self.leaseDuration = max(.seconds(1), leaseDuration)
      self.pollInterval = max(.milliseconds(10), pollInterval)
      self.maxConnections = maxConnections
      self.drainLimit = drainLimit
      self.listens = listens
      self.workerName = workerName
    }
  }
#endif
