// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  /// Starts children of a chain on a fleet, and waits for them without a slot.
  ///
  /// The children are enqueued in the transaction that stores this, so a crash neither loses nor repeats one. Then the run
  /// waits until all have ended, for a minute or for a month; any worker resumes it. A child that fails is a failure in the
  /// array, and your code decides what that means:
  ///
  /// ```swift
  /// let receipts = try await step(
  ///   "parcels",
  ///   children: addresses.map { FleetChild(parcel, $0, id: $0) }
  /// )
  /// let sent = receipts.compactMap { try? $0.get() }
  /// ```
  ///
  /// A child's id in the fleet is that of the run, the name of the step, and its own: `order-7/parcels/12 High St`.
  /// A step in a scope has a longer name.
  ///
  /// If the run fails or is cancelled later, this is undone, like a step with an undo: children that have not ended are
  /// cancelled, and chains that are done are undone. The steps before it are undone when all that has ended. A progression
  /// that is done stays as it is.
  ///
  /// Call this between steps and not in the body of a step. It consists of two steps, `enqueue` and `wait`, in a scope of
  /// the name.
  ///
  /// - Parameters:
  ///   - name: The name of the step.
  ///   - children: The children, whose ids are different.
  ///   - options: Priority, key and time of all of them; `replacing` is not used.
  /// - Returns: The outputs and the errors, in the order of the children. The error of a chain is that of the step that
  ///   failed: the same one if its type is `Codable`, otherwise a `StepFailure`. Other errors are ``FleetError``.
  /// - Throws: ``FleetError/childrenOutsideFleet(step:)``; ``FleetError/repeatedChild(step:id:)``;
  ///   ``FleetError/invalidID(id:)`` when an id in the fleet is too long; a `StepFailure` when an input cannot be stored;
  ///   `CancellationError` when the run is cancelled or stopped.
  @discardableResult
  public nonisolated(nonsending) func step<Output: Sendable>(
    _ name: String,
    children: [FleetChild<Output>],
    options: FleetOptions = FleetOptions()
  ) async throws -> [Result<Output, any Error>] {
    guard let job = FleetJob.current, job.claim.row.isChain, let scope = job.scope(name) else {
      throw FleetError.childrenOutsideFleet(step: name)
    }
    let ids = children.map { "\(job.id)/\(scope)/\($0.id)" }
    var known: Set<String> = []
    for (child, id) in zip(children, ids) {
      guard known.insert(id).inserted else { throw FleetError.repeatedChild(step: name, id: child.id) }
      try Fleet.check(id)
    }
    let ends = try await steps(name) {
      try await step("enqueue") {
        try job.enqueueWithStep(Array(zip(ids, children)), options)
        return ids
      } undo: {
        try await job.undoChildren($0)
      }
      return try await step("wait") { try await job.ends(of: ids) }
    }
    return zip(children, ends).map { child, end in Result { try child.output(end) } }
  }

  extension FleetJob {
    /// Returns the part of the children's ids that belongs to a step; nil outside of the job's run.
    fileprivate func scope(_ name: String) -> String? {
      guard let scope = DurableChildren.scope(name) else { return nil }
      // A chain with one closure is a step around the steps of the closure. Only there a scope has one part.
      let parts = scope.split(separator: "/")
      let chain = DurableLog.key(claim.row.name.storedChain ?? "", 1, in: "")
      return parts.count == 2 && parts[0] == chain ? String(parts[1]) : scope
    }

    /// Enqueues children with the entry that stores the running step, unless that is only to be undone.
    fileprivate func enqueueWithStep<Output>(
      _ children: [(id: String, child: FleetChild<Output>)],
      _ options: FleetOptions
    ) throws {
      guard let step = DurableChildren.step, !DurableChildren.isUnwinding, !children.isEmpty else { return }
      let batches = try ChildBatch.batches(children, options).map { batch in
        ChildBatch(jobs: try fleet.payloads.encode(batch.jobs), options: batch.options)
      }
      // A key or a time that cannot be stored is an error of the step.
      for batch in batches { _ = try NewJobs(batch.jobs, options, parent: id) }
      claim.state.withLock { $0.children[step] = batches }
    }

    fileprivate func ends(of ids: [String]) async throws -> [JobEnd] {
      try await DurableChildren.wait(for: ids) { [fleet] in
        try await readingPayloads { try await fleet.ends(of: ids) }
      } ?? []
    }

    /// Cancels children that have not ended, and undoes those that have; returns when nothing of them runs.
    fileprivate func undoChildren(_ ids: [String]) async throws {
      let reason = "its parent \(id) is undone"
      _ = try await DurableChildren.wait(for: ids) { [fleet] in
        try await readingPayloads { try await fleet.undo(ids, reason: reason) ? true : nil }
      }
    }
  }

  extension FleetJob {
    /// Enqueues chains and progressions as children of this job, except those whose ids the fleet has.
    ///
    /// Use it in a stage of a progression; a chain starts its children with `step(_:children:)`. Ids and cancellation are as
    /// ``enqueueChildren(_:options:isDetached:)-(_,_,_)`` has them.
    ///
    /// - Parameters:
    ///   - children: The children.
    ///   - options: Priority, key and time of all of them.
    ///   - isDetached: Whether the children are neither cancelled nor kept with this job.
    /// - Returns: The number of jobs that were added.
    /// - Throws: What `enqueue` throws.
    @discardableResult
    @concurrent public func enqueueChildren<Output: Sendable>(
      _ children: [FleetChild<Output>],
      options: FleetOptions = FleetOptions(),
      isDetached: Bool = false
    ) async throws -> Int {
      var count = 0
      for batch in try ChildBatch.batches(children.map { (id: childID($0.id), child: $0) }, options) {
        count += try await fleet.enqueue(batch.jobs, options: options, parent: isDetached ? nil : id)
      }
      return count
    }

    /// Returns the results of children that have all ended; while one has not, gives up the worker's slot until they have,
    /// as ``waitForJobs(_:)`` does.
    ///
    /// - Parameter children: The children.
    /// - Returns: The outputs and the errors, in the order of the children.
    /// - Throws: ``FleetError/needsStage(id:)``; an error that suspends the job.
    @concurrent public func waitForChildren<Output: Sendable>(
      _ children: [FleetChild<Output>]
    ) async throws -> [Result<Output, any Error>] {
      try checkStage()
      let ids = children.map { childID($0.id) }
      guard let ends = try await fleet.store.ends(of: ids) else { throw claim.suspended(JobSuspension(children: ids)) }
      return zip(children, ends).map { child, end in Result { try child.output(end) } }
    }
  }
#endif
