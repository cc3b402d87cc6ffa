// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  /// A stage to save.
  struct StageSave: Sendable {
    let id: String
    let fence: Int64
    let worker: Int64
    let version: Int64
    let shape: Int64
    let stage: String
    let isLast: Bool
  }

  /// Saves the stages of a worker's jobs: those that come while a statement is under way are the next statement.
  final class StageSaver: Sendable {
    private struct Pending: Sendable {
      let save: StageSave
      let outcome: Once<Result<Bool, any Error>>
    }

    private struct State {
      var pending: [Pending] = []
      var isSaving = false
    }

    private static let batch = 256
    /// The length of stages, in bytes, after which a batch has no further one.
    private static let size = 4_000_000

    private let database: PostgresDatabase
    private let channel: String
    private let limit: Duration
    private let hasLease: @Sendable () -> Bool
    private let state = Lock(State())

    /// While `hasLease` returns true, a server that cannot be reached, or that has no space, is waited for.
    init(
      _ database: PostgresDatabase,
      channel: String,
      within limit: Duration,
      hasLease: @escaping @Sendable () -> Bool
    ) {
      self.database = database
      self.channel = channel
      self.limit = limit
      self.hasLease = hasLease
    }

    /// Saves a stage, also when the Task is cancelled: its work is done.
    ///
    /// - Returns: Whether the stage is saved; false when the job is not this worker's any more.
    func save(_ save: StageSave) async throws -> Bool {
      let pending = Pending(save: save, outcome: Once())
      let isFirst = state.withLock { state in
        state.pending.append(pending)
        defer { state.isSaving = true }
        return !state.isSaving
      }
      if isFirst { _ = spawn { await self.saveAll() } }
      return try await pending.outcome.valueIgnoringCancellation().get()
    }

    private func saveAll() async {
      while true {
        let batch = state.withLock { state in
          var size = 0
          // Of large stages, as many as a statement can carry, and at least one.
          let batch = Array(
            state.pending.prefix(Self.batch).prefix { pending in
              defer { size += pending.save.stage.utf8.count }
              return size < Self.size
            }
          )
          state.pending.removeFirst(batch.count)
          if batch.isEmpty { state.isSaving = false }
          return batch
        }
        if batch.isEmpty { return }
        do {
          try await save(batch)
        } catch let error as PostgresError where batch.count > 1 && !error.isTemporary {
          // The server refuses one of them: the others are of other jobs, which are not to blame.
          for pending in batch {
            do { try await save([pending]) } catch { pending.outcome.settle(.failure(error)) }
          }
        } catch {
          for pending in batch { pending.outcome.settle(.failure(error)) }
        }
      }
    }

    private func save(_ batch: [Pending]) async throws {
      let rows = try await write(batch.map(\.save))
      let saved = Set(rows.compactMap { $0.integer(0) })
      for pending in batch { pending.outcome.settle(.success(saved.contains(pending.save.fence))) }
      // Apart from the save, as commits with notifications wait for each other.
      let watched = rows.compactMap { $0.text(1) }
      if watched.isEmpty { return }
      _ = try? await database.run(
        "SELECT pg_notify($1, 's' || id)::text FROM unnest($2) AS watched(id)",
        [.text(channel), .texts(watched)],
        within: limit
      )
    }

    /// Returns the fencing numbers of the saves that are stored, by this statement or by one that was cut off, and the
    /// ids of jobs that are watched.
    private func write(_ saves: [StageSave]) async throws -> [PostgresRow] {
      let saves = saves.sorted { $0.id < $1.id }
      let parameters: [PostgresValue] = [
        .texts(saves.map(\.id)), .integers(saves.map(\.fence)), .integers(saves.map(\.version)),
        .integers(saves.map(\.shape)), .texts(saves.map(\.stage)), .flags(saves.map(\.isLast)),
        .integers(saves.map(\.worker)),
      ]
      while true {
        do {
          return try await database.run(Self.statement, parameters, within: limit)
        } catch let error as PostgresError where error.isTemporary && hasLease() {
          try await Task.sleep(for: .milliseconds(200))
        }
      }
    }

    private static let statement = """
      WITH input AS (
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::boolean[], $7::bigint[])
          AS i(id, fence, version, shape, stage, is_last, worker)
      ), earlier AS (
        SELECT j.fence FROM @.jobs j JOIN input i ON i.id = j.id
        WHERE j.fence = i.fence AND j.version = i.version AND j.stage = i.stage
          AND (j.state = 'done' OR j.state = 'running' AND j.worker = i.worker)
      ), changed AS (
        UPDATE @.jobs j SET
          stage = i.stage, shape = i.shape, version = i.version, attempt = 1, error = NULL,
          state = CASE WHEN i.is_last THEN 'done' ELSE 'running' END,
          worker = CASE WHEN i.is_last THEN NULL ELSE j.worker END,
          finished_at = CASE WHEN i.is_last THEN clock_timestamp() END
        FROM input i
        WHERE j.id = i.id AND j.fence = i.fence AND j.worker = i.worker AND j.state = 'running'
          AND j.version = i.version - 1
        RETURNING j.id, j.fence, j.version, j.shape, j.stage, j.keeps_stages, j.watched_until
      ), kept AS (
        INSERT INTO @.stages (id, version, shape, stage)
        SELECT id, version, shape, stage FROM changed WHERE keeps_stages
      )
      SELECT fence, CASE WHEN watched_until > now() THEN id END FROM changed
      UNION ALL SELECT fence, NULL FROM earlier
      """
  }
#endif
