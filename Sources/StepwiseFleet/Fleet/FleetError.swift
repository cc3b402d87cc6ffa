// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// An error of a job that has no result, or that cannot be enqueued.
  ///
  /// Further cases may be added, so end a `switch` over it with `default`.
  public enum FleetError: Error, Hashable, Sendable {
    /// The fleet has no job with this id.
    case notFound(id: String)

    /// The job is dead-lettered: every attempt at its stage failed, the last one with this error.
    case failed(id: String, error: String)

    /// The job was cancelled, for this reason if one was given.
    case cancelled(id: String, reason: String?)

    /// The id is empty, longer than 200 bytes or contains a NUL.
    case invalidID(id: String)

    /// A stage, a key or a schedule cannot be stored.
    case unstorable(id: String, reason: String)

    /// The job is of another progression type than that named.
    case foreignType(id: String, stored: String, expected: String)

    /// The stored stage is not one of the type.
    case unknownShape(id: String, reason: String)

    /// The cron expression or the time zone of a schedule is not valid.
    case invalidSchedule(name: String, reason: String)
  }

  extension FleetError: CustomStringConvertible {
    /// The id, the cause and, where there is one, the remedy.
    public var description: String {
      switch self {
      case .notFound(let id): "job \"\(id)\" does not exist; it was never enqueued, or it was pruned"
      case .failed(let id, let error): "job \"\(id)\" failed: \(error) Call requeue(_:) to run its stage again."
      case .cancelled(let id, let reason): "job \"\(id)\" was cancelled\(reason.map { ": \($0)" } ?? "")"
      case .invalidID(let id): "job \"\(id)\": an id has 1 to 200 bytes of UTF-8 and no NUL"
      case .unstorable(let id, let reason): "job \"\(id)\" cannot be stored: \(reason)"
      case .foreignType(let id, let stored, let expected): "job \"\(id)\" is a \(stored), not a \(expected)"
      case .unknownShape(let id, let reason): "job \"\(id)\" has a stage that cannot be read: \(reason)"
      case .invalidSchedule(let name, let reason): "schedule \"\(name)\": \(reason)"
      }
    }
  }
#endif
