// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  /// What a worker knows of a progression type.
  struct FleetRegistration: Sendable {
    let name: String
    let version: Int
    let retry: RetryPolicy
    let limits: FleetLimits
    /// Runs a claimed job until its result, a stop between two stages, or an error; returns whether it has a result.
    let run: @Sendable (ClaimedJob) async throws -> Bool

    init<P: Progression & Codable>(_ type: P.Type, retry: RetryPolicy, limits: FleetLimits) {
      let coder = StageCoder<P>()
      name = coder.name
      version = coder.schemaVersion
      self.retry = retry
      self.limits = limits
      run = { job in
        let first = try job.decode(job.row.first, coder, shape: job.row.firstShape)
        var record = CheckpointRecord(
          id: job.row.id,
          progression: coder.name,
          schemaVersion: coder.schemaVersion,
          version: UInt64(job.row.version),
          first: Array(job.row.first.utf8),
          stage: Array((job.row.stage ?? job.row.first).utf8)
        )
        // The first stage keeps the shape in which it was enqueued; a record has one shape.
        if job.row.firstShape != coder.schemaVersion || job.row.shape != coder.schemaVersion {
          let stage = try job.decode(job.row.stage ?? job.row.first, coder, shape: job.row.shape)
          record = CheckpointRecord(
            id: record.id,
            progression: record.progression,
            schemaVersion: record.schemaVersion,
            version: record.version,
            first: try coder.encode(first),
            stage: try coder.encode(stage)
          )
        }
        for try await stage in first.stages(id: job.row.id, in: ClaimedJobStore(job, record)) {
          if stage.result != nil { return true }
          if job.isStopping() { break }
        }
        return false
      }
    }

    /// How long a job waits after an error, the last of a number of failed attempts at its stage; nil when there is no
    /// further attempt.
    func delay(after error: any Error, failures: Int) -> Duration? {
      guard failures < retry.maxAttempts else { return nil }
      if let delay = retry.delay?(error, failures) { return min(delay, .seconds(3_000_000_000)) }
      var generator = SystemRandomNumberGenerator()
      return retry.backoff.delay(afterFailures: failures, using: &generator)
    }
  }
#endif
