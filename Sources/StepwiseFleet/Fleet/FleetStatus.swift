// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// Shows how a job is doing: its state, its worker, its attempts and its error, without its stages.
  public struct FleetStatus: Hashable, Sendable {
    /// The id.
    public let id: String
    /// The name of the progression's type.
    public let progression: String
    /// What becomes of the job next.
    public let state: FleetState
    /// The number of attempts at the present stage, the running one included.
    public let attempt: Int
    /// The number of stages that were saved, the first one included.
    public let stageCount: Int
    /// The number of the worker that runs the job; nil when none does.
    public let worker: Int64?
    /// The text of the last error; nil when the present stage has not failed.
    public let error: String?
    /// A Boolean value that indicates whether the job is cancelled as soon as its stage ends.
    public let isCancellationRequested: Bool
    /// Why the job was cancelled, if a reason was given.
    public let cancellationReason: String?
  }

  extension FleetStatus {
    static let columns = "id, name, state, attempt, version, worker, error, cancel_requested, cancel_reason"

    init(_ row: PostgresRow) {
      id = row.text(0) ?? ""
      progression = row.text(1) ?? ""
      state = FleetState(row.text(2) ?? "")
      attempt = Int(row.integer(3) ?? 0)
      stageCount = Int(row.integer(4) ?? 0)
      worker = row.integer(5)
      error = row.text(6)
      isCancellationRequested = row.isTrue(7)
      cancellationReason = row.text(8)
    }
  }
#endif
