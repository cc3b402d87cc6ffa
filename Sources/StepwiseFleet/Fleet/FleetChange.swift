// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// Selects jobs: those that match all of its criteria.
  public struct FleetFilter: Hashable, Sendable {
    /// The states; all when it is empty.
    public var states: Set<FleetState>
    /// The name of the progression's type, as in ``FleetStatus/progression``.
    public var name: String?
    /// The key.
    public var key: String?
    /// A tag.
    public var tag: String?
    /// A text that the error contains; a number in it matches any number.
    public var error: String?
    /// A text that the id, the key or the error contains.
    public var text: String?
    /// How long ago the job has ended at least, or was enqueued if it has not.
    public var age: Duration?

    /// Creates a filter; each parameter sets the property of its name, and nil matches all jobs.
    public init(
      states: Set<FleetState> = [],
      name: String? = nil,
      key: String? = nil,
      tag: String? = nil,
      error: String? = nil,
      text: String? = nil,
      age: Duration? = nil
    ) {
      self.states = states
      self.name = name
      self.key = key
      self.tag = tag
      self.error = error
      self.text = text
      self.age = age
    }
  }

  /// Changes jobs that a filter selects.
  ///
  /// Further cases may be added, so end a `switch` over it with `default`.
  public enum FleetChange: Hashable, Sendable {
    /// Queues failed and cancelled jobs again, as ``Fleet/requeue(_:)`` does.
    case retry
    /// Requests the cancellation of jobs that have not ended, and of chains that failed and have steps to undo.
    case cancel(reason: String?)
    /// Sets the priority of jobs that have not ended; those that run use it when they are queued again.
    case reprioritize(Int)
    /// Removes jobs that have ended, unless another one that has not needs them.
    case prune

    /// Why the change does not apply to a job; nil when it does.
    ///
    /// - Parameter status: The job.
    /// - Returns: The reason, as a sentence without its full stop.
    public func refusal(of status: FleetStatus) -> String? {
      switch self {
      case .retry: status.isRequeueable ? nil : "it is \(status.state): only a failed or cancelled job can be retried"
      case .cancel: status.isCancellable ? nil : "it is \(status.state): a job that has ended cannot be cancelled"
      case .reprioritize:
        status.state.isFinal ? "it is \(status.state): only a job that has not ended has a priority" : nil
      case .prune: status.state.isFinal ? nil : "it is \(status.state): only a job that has ended can be removed"
      }
    }

    /// To which jobs it applies.
    var condition: String {
      switch self {
      case .retry: "state IN ('failed', 'cancelled')"
      case .cancel: Self.isCancellable
      case .reprioritize: "finished_at IS NULL"
      case .prune:
        """
        finished_at IS NOT NULL AND NOT EXISTS (SELECT FROM @.waits w WHERE w.child = jobs.id)
          AND NOT (parent IS NOT NULL AND @.has_open_parent(parent))
        """
      }
    }

    /// The dead letter of a chain without an outcome has steps to undo.
    static let isCancellable = """
      (finished_at IS NULL OR state = 'failed' AND stage IS NULL AND NOT cancel_requested AND fence > 0
        AND starts_with(name, 'chain '))
      """

    /// What is said of the jobs to which it does not apply.
    var rest: String {
      switch self {
      case .retry: "have neither failed nor been cancelled"
      case .cancel, .reprioritize: "have ended"
      case .prune: "have not ended, or are needed by one that has not"
      }
    }
  }

  /// Counts the jobs of a change by filter.
  public struct FleetProgress: Hashable, Sendable {
    /// The number of jobs that the filter matches.
    public let matchedCount: Int
    /// The number of these to which the change applies.
    public let applicableCount: Int
    /// The number of jobs that were changed so far; 0 in a dry run.
    public internal(set) var changedCount = 0
    /// How many jobs the change does not apply to, and why; nil when it applies to all.
    public let refusal: String?
  }

  extension Fleet {
    /// How many jobs one statement of a change by filter changes.
    static let changeBatch = 500

    /// Changes all jobs that a filter matches, in batches of 500, so that no lock is held for long.
    ///
    /// Jobs that are enqueued in the meantime are not changed. If it throws, earlier batches remain changed: call it again.
    ///
    /// - Parameters:
    ///   - change: The change.
    ///   - filter: The filter.
    ///   - includesAll: A Boolean value that indicates whether the filter may match every job of the fleet.
    ///   - isDryRun: A Boolean value that indicates whether to count the jobs only.
    ///   - onProgress: Called after each batch.
    /// - Returns: The numbers of jobs.
    /// - Throws: ``FleetError/invalidTag(tag:reason:)`` and ``FleetError/unknownTag(tag:)``, which name the tag of the filter;
    ///   ``FleetError/refused(reason:)`` when the filter matches no job, or every job without `includesAll`, or the
    ///   change applies to none of those; ``PostgresError``; `CancellationError` between two batches.
    @discardableResult
    @concurrent public func apply(
      _ change: FleetChange,
      to filter: FleetFilter,
      includesAll: Bool = false,
      isDryRun: Bool = false,
      onProgress: @Sendable (FleetProgress) -> Void = { _ in }
    ) async throws -> FleetProgress {
      try filter.check()
      let counts = try await store.count(change, to: filter)
      let (matched, applicable) = (counts.matched, counts.applicable)
      if matched == 0 {
        try await check(tagOf: filter)
        throw FleetError.refused(reason: "the filter matches 0 jobs")
      }
      if counts.matchesAll, !includesAll {
        throw FleetError.refused(
          reason: "the filter matches all \(matched) jobs of the fleet; includesAll, or --all, permits that"
        )
      }
      let rest = matched - applicable
      var progress = FleetProgress(
        matchedCount: matched,
        applicableCount: applicable,
        refusal: rest == 0 ? nil : "\(rest) of \(matched) jobs \(change.rest)"
      )
      if applicable == 0 {
        throw FleetError.refused(reason: "the filter matches \(matched) jobs, and they \(change.rest)")
      }
      if isDryRun { return progress }
      var last = ""
      while true {
        try Task.checkCancellation()
        let ids = try await store.ids(
          of: change,
          to: filter,
          after: last,
          enqueuedBy: counts.time,
          limit: Self.changeBatch
        )
        guard let next = ids.last else { return progress }
        progress.changedCount += try await apply(change, to: ids)
        onProgress(progress)
        last = next
      }
    }

    /// Throws for a tag that no job has.
    private func check(tagOf filter: FleetFilter) async throws {
      guard let tag = filter.tag else { return }
      if try await !store.hasJob(tagged: tag) { throw FleetError.unknownTag(tag: tag) }
    }

    /// Sets the priority of a job that has not ended.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - priority: The priority; one that runs uses it when it is queued again.
    /// - Returns: A Boolean value that indicates whether the job exists and has not ended.
    /// - Throws: ``PostgresError``.
    @discardableResult
    @concurrent public func prioritize(_ id: String, _ priority: Int) async throws -> Bool {
      if id.utf8.contains(0) { return false }
      return try await apply(.reprioritize(priority), to: [id]) == 1
    }

    /// Changes jobs by their ids, and returns how many were changed.
    private func apply(_ change: FleetChange, to ids: [String]) async throws -> Int {
      switch change {
      case .retry: return try await requeue(ids)
      case .cancel(let reason): return try await cancel(ids, reason: reason)
      case .reprioritize(let priority): return try await announced(store.prioritize(ids, priority))
      case .prune: return try await store.remove(ids)
      }
    }

    /// Queues failed and cancelled jobs again; those that were undone begin again.
    func requeue(_ ids: [String]) async throws -> Int {
      try await announced(store.requeue(ids.filter { !$0.utf8.contains(0) }))
    }

    /// Announces the jobs that a change has queued, and returns how many it has changed.
    private func announced(_ names: [ChangedName]) async -> Int {
      for name in names where name.queued > 0 { await announce(name.name, name.queued) }
      return names.reduce(0) { $0 + $1.count }
    }
  }

  extension FleetFilter {
    /// - Throws: ``FleetError/invalidTag(tag:reason:)``.
    package func check() throws(FleetError) {
      if let tag { try FleetTags.check([tag]) }
    }

    /// The condition in SQL, and its parameters.
    var condition: (sql: String, parameters: [PostgresValue]) {
      var (conditions, parameters) = ([String](), [PostgresValue]())
      func add(_ value: PostgresValue?, _ condition: (String) -> String) {
        guard let value else { return }
        parameters.append(value)
        conditions.append(condition("$\(parameters.count)"))
      }
      // The states are no parameters: with one of them, the planner can use the index of its jobs.
      let words = FleetState.all.filter(states.contains).map { "'\($0)'" }
      if !words.isEmpty {
        conditions.append(words.count == 1 ? "state = \(words[0])" : "state IN (\(words.joined(separator: ", ")))")
      }
      add(Self.text(name)) { "name = \($0)" }
      add(Self.text(key)) { "key = \($0)" }
      add(Self.text(tag)) { "tags && ARRAY[\($0)::text]" }
      add(Self.text(error)) { "position(\(Self.normalized("\($0)::text")) IN \(Self.normalized("error"))) > 0" }
      add(Self.text(text)) {
        "(position(\($0)::text IN id) > 0 OR position(\($0) IN key) > 0 OR position(\($0) IN error) > 0)"
      }
      add(age.map { .real($0 / .seconds(1)) }) {
        "coalesce(finished_at, created_at) <= clock_timestamp() - \($0)::float8 * interval '1 second'"
      }
      return (conditions.isEmpty ? "true" : conditions.joined(separator: " AND "), parameters)
    }

    /// PostgreSQL stores no NUL.
    private static func text(_ text: String?) -> PostgresValue? { text.map { .text($0.replacing("\0", with: "")) } }

    /// An error in SQL with the same digit for all numbers.
    static func normalized(_ error: String) -> String { "regexp_replace(\(error), '[0-9]+', '0', 'g')" }
  }
#endif
