// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  /// A job as a claim returned it.
  struct ClaimedRow: Sendable {
    let id: String
    let name: String
    let fence: Int64
    /// The registration under which the job was claimed.
    let worker: Int64
    let attempt: Int
    let version: Int64
    let firstShape: Int
    let first: String
    let shape: Int
    let stage: String?
    let isCancellationRequested: Bool

    init(_ row: PostgresRow, worker: Int64) {
      self.worker = worker
      id = row.text(0) ?? ""
      name = row.text(1) ?? ""
      fence = row.integer(2) ?? 0
      attempt = Int(row.integer(3) ?? 1)
      version = row.integer(5) ?? 1
      firstShape = Int(row.integer(6) ?? 0)
      first = row.text(7) ?? ""
      shape = Int(row.integer(8) ?? 0)
      stage = row.text(9)
      isCancellationRequested = row.isTrue(10)
    }
  }

  /// A job that runs in this process.
  final class ClaimedJob: Sendable {
    let row: ClaimedRow
    /// Cancelled when the job's stage is to stop.
    let token = CancellationToken()
    /// Returns whether the job stops after its present stage.
    let isStopping: @Sendable () -> Bool
    private let saver: StageSaver
    /// The number of attempts at the present stage, this one included.
    private let attempts: Lock<Int>
    private let done = Lock(false)

    init(_ row: ClaimedRow, _ saver: StageSaver, isStopping: @escaping @Sendable () -> Bool) {
      self.row = row
      self.saver = saver
      self.isStopping = isStopping
      attempts = Lock(row.attempt)
    }

    var attempt: Int { attempts.withLock { $0 } }

    /// A Boolean value that indicates whether the last stage was saved.
    var isDone: Bool { done.withLock { $0 } }

    func decode<P: Progression & Codable>(_ text: String, _ coder: StageCoder<P>, shape: Int) throws -> P {
      do {
        return try coder.decode(Array(text.utf8), schemaVersion: shape)
      } catch {
        throw FleetError.unknownShape(id: row.id, reason: error.reason)
      }
    }

    func save(_ record: CheckpointRecord, isLast: Bool) async throws {
      let save = StageSave(
        id: row.id,
        fence: row.fence,
        worker: row.worker,
        version: Int64(record.version),
        shape: Int64(record.schemaVersion),
        stage: String(decoding: record.stage, as: UTF8.self),
        isLast: isLast
      )
      guard try await saver.save(save) else { throw LostJob() }
      attempts.withLock { $0 = 1 }
      if isLast { done.withLock { $0 = true } }
    }
  }

  /// A job that was lost: its fencing number is not the present one.
  struct LostJob: Error {}

  /// What a claimed job is to the run of its progression: a store with one record, whose lease is the worker's.
  struct ClaimedJobStore: LastStageStore {
    private let job: ClaimedJob
    private let record: CheckpointRecord

    init(_ job: ClaimedJob, _ record: CheckpointRecord) {
      self.job = job
      self.record = record
    }

    func acquire(_ id: String) async throws -> CheckpointLease {
      CheckpointLease(id: id, fence: UInt64(bitPattern: job.row.fence))
    }

    func renew(_ lease: CheckpointLease) async throws -> CheckpointLease { lease }

    func release(_ lease: CheckpointLease) async throws {}

    func releaseWithoutWaiting(_ lease: CheckpointLease) {}

    func load(_ id: String) async throws -> CheckpointRecord? { record }

    func save(
      _ record: CheckpointRecord,
      ifVersionIs version: UInt64?,
      under lease: CheckpointLease
    ) async throws {
      try await job.save(record, isLast: false)
    }

    func saveLast(
      _ record: CheckpointRecord,
      ifVersionIs version: UInt64?,
      under lease: CheckpointLease
    ) async throws {
      try await job.save(record, isLast: true)
    }

    func remove(_ id: String) async throws {
      throw CheckpointError.held(id: id, location: location(of: id), processID: nil)
    }

    func list(after last: String?, limit: Int) async throws -> CheckpointPage {
      CheckpointPage(ids: [], hasMore: false)
    }

    func location(of id: String) -> String { "the fleet's table of jobs" }
  }
#endif
