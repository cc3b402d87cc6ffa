// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  extension FleetWorker {
    /// Runs a job and stores how the attempt ended; returns when the database knows, or the job is lost.
    func execute(_ job: ClaimedJob) async {
      var failure: (any Error)?
      var hasResult = false
      do {
        guard let registration = registrations[job.row.name] else { throw FleetError.notFound(id: job.row.id) }
        let current = FleetJob(fleet: fleet, id: job.row.id, claim: job)
        hasResult = try await FleetJob.$current.withValue(current) {
          try await withCancellation(by: job.token) { try await registration.run(job) }
        }
      } catch {
        failure = error
      }
      let interruption = state.withLock { $0.machine.interruption(of: job.row.fence) }
      // A job that was enqueued at its last stage has a result that no save has recorded.
      let ending = hasResult ? Ending(state: .done) : ending(job, failure, interruption)
      if let ending, !job.isDone { await store(ending, job) }
      ended(job.row.fence)
    }

    /// Returns what to store for a job without a result; nil when the job is lost.
    private func ending(
      _ job: ClaimedJob,
      _ failure: (any Error)?,
      _ interruption: WorkerMachine.Interruption?
    ) -> Ending? {
      switch (failure, interruption) {
      case (_, .loss), (is LostJob, _): return nil
      case (_, .cancellation): return Ending(state: .cancelled)
      case (nil, _), (_, .drain): return Ending(state: .queued, isUncounted: true)
      case (let suspension as JobSuspension, _):
        return Ending(state: .waiting, children: suspension.children, isUncounted: true)
      case (let failure?, _):
        var text = String(describing: failure).replacing("\0", with: "")
        if text.count > 2_000 { text = text.prefix(2_000) + "…" }
        let isPermanent =
          switch failure {
          case is FleetError, CheckpointError.unknownShape, CheckpointError.unencodable, CheckpointError.ambiguousType,
            CheckpointError.foreignType:
            true
          default: false
          }
        guard !isPermanent, let delay = registrations[job.row.name]?.delay(after: failure, failures: job.attempt) else {
          return Ending(state: .failed, error: text)
        }
        return Ending(state: delay > .zero ? .scheduled : .queued, delay: delay, error: text)
      }
    }

    /// Stores an ending; while the server cannot be reached, tries again until the lease is over.
    private func store(_ ending: Ending, _ job: ClaimedJob) async {
      // Not a child of the attempt's Task, which may be cancelled.
      let storing = spawn {
        while true {
          let isLost = self.state.withLock { $0.machine.interruption(of: job.row.fence) == .loss }
          if isLost { break }
          if (try? await self.storeOnce(ending, job)) != nil { break }
          try? await Task.sleep(for: .milliseconds(200))
        }
      }
      await storing.value
    }

    private func storeOnce(_ ending: Ending, _ job: ClaimedJob) async throws {
      let row = job.row
      let isStored = try await fleet.settle(ending, id: row.id, fence: row.fence, worker: row.worker, within: limit)
      // A child may have ended before the wait for it was stored.
      if isStored, ending.children != nil { try await sweep() }
    }

    /// Frees what dead workers held, and wakes parents.
    func sweep() async throws {
      if try await fleet.sweep(within: limit) > 0 { attention.raise() }
    }
  }
#endif
