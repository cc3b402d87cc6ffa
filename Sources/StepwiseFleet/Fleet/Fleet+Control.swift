// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  extension Fleet {
    /// Requests the cancellation of jobs, wherever they run.
    ///
    /// A job that does not run is cancelled at once. One that runs is cancelled with its stage's Task: within a round
    /// trip where its worker hears notifications, and otherwise within its poll interval. If its last stage is saved
    /// first, the job is done. Its children are cancelled with it, unless they are detached.
    ///
    /// A chain that has begun undoes its completed steps first, on the worker that runs it or on the next one. So does a
    /// dead letter of a chain, unless it has undone them: cancel an order that failed and that you do not continue.
    ///
    /// - Parameters:
    ///   - ids: The ids; those of jobs that have ended or do not exist are ignored.
    ///   - reason: The reason, for ``FleetStatus/cancellationReason``.
    /// - Returns: The number of jobs that were cancelled or are about to be.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func cancel(_ ids: [String], reason: String? = nil) async throws -> Int {
      // No job has a NUL in its id, and PostgreSQL stores none.
      try await store.cancel(ids.filter { !$0.utf8.contains(0) }, reason: reason?.replacing("\0", with: ""))
    }

    /// Requests the cancellation of a job, as `cancel(_:reason:)` of many does.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - reason: The reason, for ``FleetStatus/cancellationReason``.
    /// - Returns: A Boolean value that indicates whether the job was cancelled or is about to be.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func cancel(_ id: String, reason: String? = nil) async throws -> Bool {
      try await cancel([id], reason: reason) == 1
    }

    /// Stops workers from starting jobs of a progression type, over the whole fleet and until it is resumed.
    ///
    /// Use this when what the jobs call is down, or to keep a bad deployment from spreading. Jobs that run continue; a
    /// claim under way may start some more. You can enqueue jobs, and schedules tick.
    ///
    /// - Parameter name: The name of the type, as in ``FleetStatus/progression``.
    /// - Returns: A Boolean value that indicates whether the name was not paused before.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func pause(_ name: String) async throws -> Bool {
      try await store.pause(name)
    }

    /// Lets workers start jobs of a paused progression type again.
    ///
    /// - Parameter name: The name of the type, as in ``FleetStatus/progression``.
    /// - Returns: A Boolean value that indicates whether the name was paused.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func resume(_ name: String) async throws -> Bool {
      let wasPaused = try await store.resume(name)
      await announce(name, Self.allWorkers)
      return wasPaused
    }

    /// Queues a dead letter or a cancelled job again, at the stage it had reached and with all of its attempts.
    ///
    /// A chain that has undone its steps (``FleetStatus/isUndone``) starts a new run under the same id with its input: every
    /// step runs again, with other idempotency keys, and signals of the earlier run are gone.
    ///
    /// - Parameter id: The id.
    /// - Returns: A Boolean value that indicates whether the job was queued; ``FleetChange/refusal(of:)`` says why not.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func requeue(_ id: String) async throws -> Bool { try await requeue([id]) == 1 }

    /// Enqueues a new job that begins at a stage of another progression, which stays as it is.
    ///
    /// - Parameters:
    ///   - id: The job to fork; it keeps its stages, or the stage is its first or last.
    ///   - number: The stage: 1 for the first, up to ``FleetStatus/stageCount``.
    ///   - newID: The id of the new job.
    /// - Returns: A Boolean value that indicates whether the new id was free.
    /// - Throws: ``FleetError/notFound(id:)`` when that stage is not stored; ``PostgresError``.
    @discardableResult
    @concurrent public func fork(_ id: String, fromStage number: Int, as newID: String) async throws -> Bool {
      try Self.check(newID)
      guard let added = try await store.fork(id, fromStage: number, as: newID) else {
        throw FleetError.notFound(id: id)
      }
      guard let name = added else { return false }
      await announce(name, 1)
      return true
    }

    /// Removes jobs that ended longer ago than an age, with their stages.
    ///
    /// It removes 1,000 in a statement: no lock is held for long. Children, their children, and jobs that another one waits
    /// for, are kept until that job has ended.
    ///
    /// - Parameters:
    ///   - age: How long ago a job has ended at least, by the database's clock.
    ///   - states: The states of jobs to remove; dead letters are kept unless they are named.
    /// - Returns: The number of jobs that were removed.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func prune(
      olderThan age: Duration,
      states: Set<FleetState> = [.done, .cancelled]
    ) async throws -> Int {
      var total = 0
      while true {
        let count = try await store.prune(olderThan: age, states: states)
        total += count
        if count < 1_000 { return total }
      }
    }
  }

  extension Fleet {
    /// One statement that creates the tables and functions, or brings them up to date.
    ///
    /// You can run it again at any time. Use it when the roles of your programs may not create tables: an administrator
    /// runs it before you deploy a new version. A program whose tables are up to date runs none of it.
    public var schemaSQL: String { postgres?.schema.script ?? Self.hasNoTables }

    private static let hasNoTables = "-- This fleet is in memory and has no tables.\n"

    /// Creates the tables, or brings those of an earlier version up to date, and returns how many steps had run and have run.
    ///
    /// The first operation does so, too. This one builds indexes without blocking writes.
    package func migrate() async throws -> (before: Int, after: Int) { try await postgres?.convert() ?? (0, 0) }

    /// Statements that let one role enqueue jobs and read what becomes of them, and another one run and operate them.
    ///
    /// Run them after ``schemaSQL``, and again after each new version of it. An enqueuer can change no job: cancelling,
    /// pausing, signals, and replacing finished jobs need the rights of a worker. A worker can enqueue, too.
    ///
    /// - Parameters:
    ///   - enqueuer: The name of the role that enqueues; nil for none.
    ///   - worker: The name of the role that runs and operates jobs; nil for none.
    /// - Returns: The statements.
    public func grantsSQL(enqueuer: String?, worker: String?) -> String {
      guard let schema = postgres?.schema.quoted else { return Self.hasNoTables }
      func lines(_ role: String?, _ grants: [String]) -> String {
        guard let role else { return "" }
        return grants.map { "\($0) \(PostgresSchema(name: role).quoted);\n" }.joined()
      }
      let enqueuing = [
        "GRANT USAGE ON SCHEMA \(schema) TO",
        "GRANT SELECT ON ALL TABLES IN SCHEMA \(schema) TO",
        "GRANT INSERT, UPDATE (watched_until) ON \(schema).jobs TO",
        "GRANT UPDATE (until) ON \(schema).marks TO",
        "GRANT EXECUTE ON FUNCTION \(schema).announce(text, text, bigint), \(schema).why(\(schema).jobs) TO",
        "GRANT EXECUTE ON FUNCTION \(schema).turn(text, text, bigint) TO",
      ]
      let working = [
        "GRANT USAGE ON SCHEMA \(schema) TO",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(schema) TO",
        "REVOKE INSERT, UPDATE, DELETE ON \(schema).migrations FROM",
        "GRANT USAGE, UPDATE ON ALL SEQUENCES IN SCHEMA \(schema) TO",
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA \(schema) TO",
      ]
      return lines(enqueuer, enqueuing) + lines(worker, working)
    }
  }
#endif
