// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  /// Collects what comes while a statement is under way, and makes it the next statement.
  final class Batcher<Item: Sendable, Output: Sendable>: Sendable {
    typealias Outcome = Result<Output, any Error>
    typealias Statement = @Sendable ([Item]) async throws -> [Output]

    private struct State {
      var pending: [(item: Item, outcome: Once<Outcome>)] = []
      var isRunning = false
    }

    private let size: @Sendable (Item) -> Int
    private let state = Lock(State())

    /// Limits a batch to 256 items, and after 4,000,000 bytes of items to those that it has.
    init(size: @escaping @Sendable (Item) -> Int = { _ in 0 }) { self.size = size }

    /// Runs a statement for an item and those of other Tasks, also when the Task is cancelled.
    ///
    /// `run` returns an output for each item.
    func add(_ item: Item, _ run: @escaping Statement) async throws -> Output {
      let outcome = Once<Outcome>()
      let isFirst = state.withLock { state in
        state.pending.append((item, outcome))
        defer { state.isRunning = true }
        return !state.isRunning
      }
      if isFirst { _ = spawn { await self.runAll(run) } }
      return try await outcome.valueIgnoringCancellation().get()
    }

    private func runAll(_ run: Statement) async {
      while true {
        let batch = state.withLock { state in
          var bytes = 0
          let batch = Array(
            state.pending.prefix(256).prefix { pending in
              defer { bytes += size(pending.item) }
              return bytes < 4_000_000
            }
          )
          state.pending.removeFirst(batch.count)
          if batch.isEmpty { state.isRunning = false }
          return batch
        }
        if batch.isEmpty { return }
        for (pending, outcome) in zip(batch, await outcomes(batch.map(\.item), run)) {
          pending.outcome.settle(outcome)
        }
      }
    }

    private func outcomes(_ items: [Item], _ run: Statement) async -> [Outcome] {
      do {
        return try await run(items).map { .success($0) }
      } catch let error as PostgresError where items.count > 1 && !error.isTemporary {
        // The server refuses one of them, and the others are not to blame.
        var outcomes: [Outcome] = []
        for item in items { outcomes += await self.outcomes([item], run) }
        return outcomes
      } catch {
        return items.map { _ in .failure(error) }
      }
    }
  }

  /// What a worker writes of a job that it has claimed.
  protocol FencedWrite: Sendable {
    var id: String { get }
    var fence: Int64 { get }
    /// The length of what is written, in bytes.
    var size: Int { get }
    /// Returns the fencing numbers of the writes that are stored, by this statement or by one that was cut off, and the
    /// ids of jobs that are watched.
    static var statement: String { get }
    static func parameters(_ writes: [Self]) -> [PostgresValue]
  }

  /// Writes for a worker's jobs.
  final class FencedWriter<Write: FencedWrite>: Sendable {
    private let database: PostgresDatabase
    private let limit: Duration
    private let hasLease: @Sendable () -> Bool
    private let batcher = Batcher<Write, Bool> { $0.size }

    /// While `hasLease` returns true, a server that cannot be reached, or that has no space, is waited for.
    init(_ database: PostgresDatabase, within limit: Duration, hasLease: @escaping @Sendable () -> Bool) {
      self.database = database
      self.limit = limit
      self.hasLease = hasLease
    }

    /// Writes, also when the Task is cancelled: the work is done.
    ///
    /// - Returns: Whether it is stored; false when the job is not this worker's any more.
    func save(_ write: Write) async throws -> Bool {
      try await batcher.add(write) { writes in
        let rows = try await self.store(writes)
        self.database.notify(rows.compactMap { $0.text(1) })
        let saved = Set(rows.compactMap { $0.integer(0) })
        return writes.map { saved.contains($0.fence) }
      }
    }

    private func store(_ writes: [Write]) async throws -> [PostgresRow] {
      let parameters = Write.parameters(writes.sorted { $0.id < $1.id })
      while true {
        do {
          return try await database.run(Write.statement, parameters, within: limit)
        } catch let error as PostgresError where error.isTemporary && hasLease() {
          try await Task.sleep(for: .milliseconds(200))
        }
      }
    }
  }

  /// Saves the stages of a worker's jobs.
  typealias StageSaver = FencedWriter<StageSave>

  /// A stage to save.
  struct StageSave: FencedWrite {
    let id: String
    let fence: Int64
    let worker: Int64
    let version: Int64
    let shape: Int64
    let stage: String
    let isLast: Bool
    /// The numbers of the signals that the stage has received.
    var signals: [Int64] = []

    var size: Int { stage.utf8.count }

    static func parameters(_ saves: [StageSave]) -> [PostgresValue] {
      [
        .texts(saves.map(\.id)), .integers(saves.map(\.fence)), .integers(saves.map(\.version)),
        .integers(saves.map(\.shape)), .texts(saves.map(\.stage)), .flags(saves.map(\.isLast)),
        .integers(saves.map(\.worker)), .integers(saves.flatMap(\.signals)),
      ]
    }

    static let statement = """
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
        RETURNING j.id, j.fence, j.version, j.shape, j.stage, j.keeps_stages AND NOT i.is_last AS is_kept, j.watched_until
      ), taken AS (
        UPDATE @.signals s SET is_taken = true, value = '' FROM changed
        WHERE $8::bigint[] <> '{}' AND s.job = changed.id AND s.number = ANY ($8)
      ), kept AS (
        INSERT INTO @.stages (id, version, shape, stage)
        SELECT id, version, shape, stage FROM changed WHERE is_kept
      )
      SELECT fence, CASE WHEN watched_until > now() THEN id END FROM changed
      UNION ALL SELECT fence, NULL FROM earlier
      """
  }

  /// An entry to append.
  struct EntrySave: FencedWrite {
    let id: String
    let fence: Int64
    let worker: Int64
    let number: Int64
    let entry: [UInt8]
    /// The numbers of the signals that the entry consumes.
    let signals: [Int64]

    var size: Int { entry.count }

    static func parameters(_ entries: [EntrySave]) -> [PostgresValue] {
      [
        .texts(entries.map(\.id)), .integers(entries.map(\.fence)), .integers(entries.map(\.worker)),
        .integers(entries.map(\.number)), .blobs(entries.map(\.entry)), .integers(entries.flatMap(\.signals)),
      ]
    }

    static let statement = FleetChains.append
  }
#endif
