// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// When a job starts, before which others, and which of its stages are stored.
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

    /// The priority: jobs with a higher number start first.
    public var priority: Int
    /// What jobs of the type that must not run at once have in common, such as a customer; see
    /// ``FleetLimits/runningPerKey``.
    public var key: String?
    /// When the job may start.
    public var start: Start
    /// A Boolean value that indicates whether each stage is stored, not only the last: to stream all and to fork.
    public var keepsStages: Bool

    /// Creates options.
    ///
    /// - Parameters:
    ///   - priority: The priority: jobs with a higher number start first.
    ///   - key: What jobs of the type that must not run at once have in common.
    ///   - start: When the job may start.
    ///   - keepsStages: Whether each stage is stored, not only the last.
    public init(priority: Int = 0, key: String? = nil, start: Start = .now, keepsStages: Bool = true) {
      self.priority = priority
      self.key = key
      self.start = start
      self.keepsStages = keepsStages
    }
  }
#endif
