// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// Whether a job of a fleet is queued, running, waiting, or over.
  public struct FleetState: Hashable, Sendable, CustomStringConvertible {
    /// The word in the table.
    public let description: String

    init(_ description: String) { self.description = description }

    /// A worker may claim the job.
    public static let queued = FleetState("queued")
    /// The job is queued at its time: it was delayed, or it is retried.
    public static let scheduled = FleetState("scheduled")
    /// A worker runs the job.
    public static let running = FleetState("running")
    /// The job waits for its children, and no worker is held.
    public static let waiting = FleetState("waiting")
    /// The job has a result.
    public static let done = FleetState("done")
    /// The job is dead-lettered.
    public static let failed = FleetState("failed")
    /// The job was cancelled.
    public static let cancelled = FleetState("cancelled")

    /// All states, in the order of a job's life.
    public static let all: [FleetState] = [.queued, .scheduled, .running, .waiting, .done, .failed, .cancelled]

    /// A Boolean value that indicates whether the job has ended.
    public var isFinal: Bool { [.done, .failed, .cancelled].contains(self) }
  }
#endif
