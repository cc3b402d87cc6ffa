// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  extension FleetWorker {
    /// Runs a job and stores how the attempt ended; returns when the database knows, or the job is lost.
    func execute(_ job: ClaimedJob) async {
      var failure: (any Error)?
      var end: Ending?
      do {
        guard let registration = registrations[job.row.name] else { throw FleetError.notFound(id: job.row.id) }
        let current = FleetJob(fleet: fleet, id: job.row.id, claim: job)
        let watch = registration.limits.isTimed ? spawn { await job.limitTime(registration.limits) } : nil
        defer { watch?.cancel() }
        end = try await FleetJob.$current.withValue(current) {
          try await withCancellation(by: job.token) { try await registration.run(job) }
        }
      } catch {
        failure = error
      }
      let interruption = state.withLock { $0.machine.interruption(of: job.row.fence) }
      // A job that was enqueued at its last stage has a result that no save has recorded.
      let ending = end ?? ending(job, failure, interruption)
      if let ending, !job.isDone {
        freeSlot(of: job.row.fence)
        await store(ending, job)
        if ending.state != .done {
          onEvent(
            .ended(
              id: job.row.id,
              progression: job.row.name,
              state: ending.state,
              attempt: job.attempt,
              error: ending.error == nil ? nil : job.row.isChain ? failure : job.timeout ?? failure
            )
          )
        }
      }
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
      // A chain that was cancelled has undos, which failed or are still missing.
      case (_, .cancellation) where !job.row.isChain: return Ending(state: .cancelled)
      case (let suspension as JobSuspension, _):
        if let children = suspension.children { return Ending(state: .waiting, waitsFor: children, isUncounted: true) }
        return Ending(state: .scheduled, waitsFor: suspension.signals, end: suspension.end, isUncounted: true)
      case (nil, _), (_, .drain): return Ending(state: .queued, isUncounted: true)
      case (let error?, _):
        let failure = job.row.isChain ? error : job.timeout ?? error
        let text = Ending.text(failure)
        let isPermanent =
          switch failure {
          case JobTimeout.job, is FleetError, CheckpointError.unknownShape, CheckpointError.unencodable,
            CheckpointError.ambiguousType, CheckpointError.foreignType:
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
        let attempt = EndedAttempt(claim: job.row.claim, ending: ending)
        while self.state.withLock({ $0.machine.interruption(of: job.row.fence) != .loss }) {
          do {
            // A child may have ended before the wait for it was stored.
            if try await self.store(attempt, with: self.ends), ending.state == .waiting { try await self.sweep() }
            return
          } catch is LostJob {
            return
          } catch {
            try? await Task.sleep(for: .milliseconds(200))
          }
        }
      }
      await storing.value
    }

    /// Frees what dead workers held, and wakes parents.
    func sweep() async throws {
      let (freed, woken) = try await fleet.sweep(within: limit)
      if freed + woken > 0 { attention.raise() }
      if freed > 0 { onEvent(.freed(jobCount: freed)) }
    }
  }
#endif
