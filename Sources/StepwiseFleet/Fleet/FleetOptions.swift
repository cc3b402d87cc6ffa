// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// Sets when a job starts, before which others, and which of its stages are stored.
  public struct FleetOptions: Hashable, Sendable {
    /// When the job may start.
    public enum Start: Hashable, Sendable {
      /// As soon as a worker has a free slot.
      case now
      /// After a delay from now on, by the database's clock.
      case after(Duration)
      /// At a time, in seconds since 1970 by the database's clock.
      case at(secondsSince1970: Double)
    }

    /// Which jobs a new one with the same id replaces.
    public enum Replacement: Hashable, Sendable {
      /// None: an id that the fleet has is not enqueued again.
      case nothing
      /// A job that has ended, with its stages: an id is unique only while its job is pending.
      ///
      /// A chain that is dead-lettered has not ended, because it may have to be undone.
      case finished
    }

    /// The priority: jobs with a higher number start first.
    public var priority: Int
    /// What jobs of the type that must not run at once have in common, such as a customer; see
    /// ``FleetLimits/runningPerKey``.
    public var key: String?
    /// When the job may start.
    public var start: Start
    /// A Boolean value that indicates whether each stage is stored, not only the last: to stream all and to fork.
    ///
    /// The values that the steps of a chain store are kept after its end, for the timeline of `stepctl`.
    public var keepsStages: Bool
    /// Which jobs a new one with the same id replaces.
    public var replacing: Replacement

    /// Creates options; each parameter sets the property of its name.
    public init(
      priority: Int = 0,
      key: String? = nil,
      start: Start = .now,
      keepsStages: Bool = true,
      replacing: Replacement = .nothing
    ) {
      self.priority = priority
      self.key = key
      self.start = start
      self.keepsStages = keepsStages
      self.replacing = replacing
    }
  }

  /// Limits how many jobs of one progression type run at once, and start in a time, over the whole fleet; and how long a
  /// job may run.
  ///
  /// The limits of numbers are in the database: the worker that registered the type last determines them. Each worker
  /// applies the time limits that it registered.
  public struct FleetLimits: Hashable, Sendable {
    /// The number of jobs of the type that run at once; nil for no limit.
    public var running: Int?
    /// The number of jobs of the type with the same key that run at once; nil for no limit.
    public var runningPerKey: Int?
    /// The number of jobs that start in a period; nil for no limit.
    ///
    /// In a time *t* at most `starts + starts * t / period` jobs start: after a pause up to `starts` of them at once.
    public var starts: Int?
    /// The period of `starts`.
    public var period: Duration
    /// The time limit for a stage of a progression, from its start or the end of its last wait; nil for no limit.
    ///
    /// When the time is up, the stage is cancelled and awaited, and its attempt fails. A stage that it still returns is
    /// saved. A step of a chain has its `timeout`.
    public var stageTime: Duration?
    /// The time limit for a job, from its first start, waits and retries included; nil for no limit.
    ///
    /// When the time is up, the running stage is cancelled and awaited, and the job is dead-lettered; a chain is cancelled,
    /// and undoes its steps. A job that waits without a worker is stopped when it is next due.
    public var jobTime: Duration?

    /// Creates limits; each parameter sets the property of its name.
    public init(
      running: Int? = nil,
      runningPerKey: Int? = nil,
      starts: Int? = nil,
      per period: Duration = .seconds(1),
      stageTime: Duration? = nil,
      jobTime: Duration? = nil
    ) {
      self.running = running
      self.runningPerKey = runningPerKey
      self.starts = starts
      self.period = period
      self.stageTime = stageTime
      self.jobTime = jobTime
    }

    /// A Boolean value that indicates whether there is a limit for the database to keep.
    var isShared: Bool { running != nil || runningPerKey != nil || starts != nil }

    var isTimed: Bool { stageTime != nil || jobTime != nil }

    /// No limits.
    public static let none = FleetLimits()
  }
#endif
