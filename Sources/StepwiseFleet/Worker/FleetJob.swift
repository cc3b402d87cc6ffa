// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise

  /// Starts other jobs from a stage, and waits for them: the job whose stage runs in the current task.
  ///
  /// ```swift
  /// case .splitting(let files):
  ///   try await FleetJob.current?.enqueueChildren(files.map { (id: "import-\($0)", progression: Import.start($0)) })
  ///   return .joining(files)
  /// case .joining(let files):
  ///   _ = try await FleetJob.current?.waitForChildren(files.map { "import-\($0)" })
  ///   return .done
  /// ```
  public struct FleetJob: Sendable {
    /// The job of the present Task; nil outside of a worker.
    @TaskLocal public static var current: FleetJob?

    let fleet: Fleet
    /// The id.
    public let id: String
    let claim: ClaimedJob

    /// The number of attempts at the present stage, this one included.
    public var attempt: Int { claim.attempt }

    /// Enqueues progressions as children of this job, except those whose ids the fleet has.
    ///
    /// A stage that is repeated adds no child twice.
    ///
    /// - Parameters:
    ///   - progressions: The ids and the stages to begin with.
    ///   - options: Priority, key and time of all of them.
    /// - Returns: The number of jobs that were added.
    /// - Throws: What `enqueue` throws.
    @discardableResult
    @concurrent public func enqueueChildren<P: Progression & Codable>(
      _ progressions: [(id: String, progression: P)],
      options: FleetOptions = FleetOptions()
    ) async throws -> Int {
      try await fleet.enqueue(progressions, options: options, parent: id)
    }

    /// Returns the states of jobs that have all ended; while one has not, gives up the worker's slot until they have.
    ///
    /// In that case this throws, and the stage runs again from its beginning when all have ended: do nothing before it
    /// that must not be repeated, and do not catch its error. The wait is stored, and does not count as an attempt.
    ///
    /// - Parameter ids: The jobs, whether children of this one or not.
    /// - Returns: Their states, in the order of the ids.
    /// - Throws: ``FleetError/notFound(id:)``; an error that suspends the job.
    @concurrent public func waitForChildren(_ ids: [String]) async throws -> [FleetStatus] {
      let statuses = try await fleet.statuses(of: ids)
      let found = Dictionary(statuses.map { ($0.id, $0) }) { first, _ in first }
      let ordered = try ids.map { id in
        guard let status = found[id] else { throw FleetError.notFound(id: id) }
        return status
      }
      guard ordered.allSatisfy(\.state.isFinal) else { throw JobSuspension(children: ids) }
      return ordered
    }
  }

  /// Ends an attempt at a stage until other jobs have ended.
  struct JobSuspension: Error, CustomStringConvertible {
    let children: [String]

    var description: String { "The job waits for its children; do not catch this error." }
  }
#endif
