// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import StepwiseFleet

  /// What people on call type.
  enum FleetControl: String {
    case status, cancel, retry

    /// Nothing was done, for a reason.
    struct Refused: Error, CustomStringConvertible {
      let description: String
    }

    /// Returns a line about the job after the command.
    func run(_ id: String, in fleet: Fleet) async throws -> String {
      let isDone =
        switch self {
        case .status: true
        case .cancel: try await fleet.cancel(id, reason: "cancelled by hand")
        case .retry: try await fleet.requeue(id)
        }
      guard let status = try await fleet.status(of: id) else { throw FleetError.notFound(id: id) }
      guard isDone else {
        let reason =
          self == .cancel
          ? "it has ended, so it cannot be cancelled" : "only a failed or cancelled job can be retried"
        throw Refused(description: "job \"\(id)\" is \(status.state): \(reason)")
      }
      var parts = ["\(id): \(status.state)", "stage \(status.stageCount)", "attempt \(status.attempt)"]
      if let worker = status.worker { parts.append("worker \(worker)") }
      if status.isCancellationRequested, !status.state.isFinal { parts.append("cancellation requested") }
      if let reason = status.cancellationReason { parts.append("reason: \(reason)") }
      if let error = status.error { parts.append("last error: \(error)") }
      return parts.joined(separator: ", ")
    }
  }
#endif
