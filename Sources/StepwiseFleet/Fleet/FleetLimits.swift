// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// Limits how many jobs of one progression type run at once, and start in a time, over the whole fleet.
  ///
  /// The limits are in the database: the worker that registered the type last determines them.
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

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - running: The number of jobs of the type that run at once; nil for no limit.
    ///   - runningPerKey: The number of jobs with the same key that run at once; nil for no limit.
    ///   - starts: The number of jobs that start in a period; nil for no limit.
    ///   - period: The period of `starts`.
    public init(running: Int? = nil, runningPerKey: Int? = nil, starts: Int? = nil, per period: Duration = .seconds(1))
    {
      self.running = running
      self.runningPerKey = runningPerKey
      self.starts = starts
      self.period = period
    }

    /// No limits.
    public static let none = FleetLimits()
  }
#endif
