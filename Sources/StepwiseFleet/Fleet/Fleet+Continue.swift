// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  /// What becomes of a run of a chain that fails on a fleet.
  public struct FleetFailurePolicy: Hashable, Sendable {
    private let holds: Bool

    /// Completed steps are undone, and the job ends with the error.
    public static let undo = FleetFailurePolicy(holds: false)

    /// Completed steps are kept, and the job is a dead letter.
    ///
    /// Fix what failed, and ``Fleet/continue(_:)`` runs the failed step again. Cancel the job to undo its steps instead.
    public static let hold = FleetFailurePolicy(holds: true)
  }

  extension Fleet {
    /// Continues a chain that failed from its failed step, if nothing of it was undone.
    ///
    /// Use it once you have fixed what failed: completed steps are not repeated. Register the chain with
    /// ``FleetFailurePolicy/hold`` so that its failed runs can be continued. A run of another chain can be if none of its
    /// completed steps has an undo, and if its job keeps its stages.
    ///
    /// The step that failed runs again with the same `CurrentStep.idempotencyKey`. If a limit of time around it was over, it
    /// begins again. A run that is no longer failed, because it was continued before, is left alone.
    ///
    /// - Parameter id: The id.
    /// - Returns: A Boolean value that indicates whether the job was queued; false when it has not failed.
    /// - Throws: ``FleetError/notFound(id:)``; ``FleetError/notContinuable(id:reason:)`` when the job is no chain, or when
    ///   its steps were undone; ``PostgresError``.
    @discardableResult
    @concurrent public func `continue`(_ id: String) async throws -> Bool {
      while true {
        let runs = id.utf8.contains(0) ? [] : try await store.runs(of: [id])
        guard let run = runs.first else { throw FleetError.notFound(id: id) }
        guard run.isChain else {
          throw FleetError.notContinuable(id: id, reason: "it is not a chain; requeue it, to run its stage again")
        }
        if run.state == .cancelled { throw FleetError.notContinuable(id: id, reason: "it was cancelled") }
        guard run.state == .failed else { return false }
        let (number, entry) = try await continuation(of: id, hasOutcome: run.hasStage)
        if let name = try await store.continue(id, run.fence, number, entry) {
          await announce(name, 1)
          return true
        }
      }
    }

    /// Returns what replaces the entries of a run that has failed.
    private func continuation(of id: String, hasOutcome: Bool) async throws -> (number: Int64, entry: [UInt8]) {
      let rows = try await store.entries(of: id)
      guard !rows.isEmpty || !hasOutcome else {
        throw FleetError.notContinuable(
          id: id,
          reason: "its job does not keep its stages, so what it stored is removed"
        )
      }
      var (events, isReady) = ([DurableEvent](), false)
      let entries = try rows.map { try payloads.decode(entry: $0.entry, of: id) }
      do {
        for entry in entries { events += try DurableEvent.events(in: entry) }
        // What a worker has held is ready to continue.
        let isConcluded = events.contains { if case .concluded = $0 { true } else { false } }
        if isConcluded, hasOutcome { events = try DurableEvent.continuing(events) }
        isReady = !isConcluded || hasOutcome
      } catch {
        throw FleetError.notContinuable(id: id, reason: error.reason)
      }
      if isReady {
        let entry = try payloads.encode(entry: DurableEvent.bytes(of: events), of: id)
        return (1 + (rows.last?.number ?? 1), entry)
      }
      throw FleetError.notContinuable(
        id: id,
        reason: "its completed steps are being undone; requeue it to undo the rest"
      )
    }
  }

  extension ClaimedJob {
    /// Removes what ended the run from what it has stored, so that its next run performs the failed step again.
    ///
    /// If the worker dies before this, the next one replays the failure, and holds the run as well.
    func keepForContinuation() async throws {
      let rows = try await surroundings.run { try await $0.entries(of: row.id) }
      guard let last = rows.last?.number else { return }
      var events: [DurableEvent] = []
      let payloads = surroundings.payloads
      for row in rows {
        events += try DurableEvent.events(in: payloads.decode(entry: row.entry, of: self.row.id))
      }
      let kept = DurableEvent.bytes(of: try DurableEvent.continuing(events, isHeld: true))
      let entry = try payloads.encode(entry: kept, of: row.id)
      if try await !surroundings.run({ try await $0.replaceEntries(row.claim, last + 1, entry) }) { throw LostJob() }
    }
  }
#endif
