// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  /// Collects what comes while a statement is under way, and makes it the next statement.
  final class Batcher<Item: Sendable, Output: Sendable>: Sendable {
    typealias Outcome = Result<Output, any Error>
    typealias Statement = @Sendable ([Item]) async throws -> [Output]

    private typealias Pending = (item: Item, outcome: Once<Outcome>)

    private struct State {
      var pending: [Pending] = []
      var isRunning = false
    }

    private let size: @Sendable (Item) -> Int
    private let isAlike: @Sendable (Item, Item) -> Bool
    private let state = Lock(State())

    /// Limits a batch to 256 items that are alike, and after 4,000,000 bytes of items to those that it has.
    init(
      size: @escaping @Sendable (Item) -> Int = { _ in 0 },
      isAlike: @escaping @Sendable (Item, Item) -> Bool = { _, _ in true }
    ) { (self.size, self.isAlike) = (size, isAlike) }

    /// Runs a statement for an item and those of other Tasks, also when the Task is cancelled.
    ///
    /// `run` returns an output for each item; that of one Task also runs for the items of others.
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
          var (batch, bytes) = ([Pending](), 0)
          state.pending.removeAll { pending in
            let fits = batch.count < 256 && bytes < 4_000_000
            guard fits, batch.isEmpty || isAlike(batch[0].item, pending.item) else { return false }
            batch.append(pending)
            bytes += size(pending.item)
            return true
          }
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
      } catch let error as any FleetStoreError where items.count > 1 && !error.isTemporary {
        // The server refuses one of them, and the others are not to blame.
        var outcomes: [Outcome] = []
        for item in items { outcomes += await self.outcomes([item], run) }
        return outcomes
      } catch {
        return items.map { _ in .failure(error) }
      }
    }
  }

  /// A job as one registration of a worker has claimed it: nothing else may write of the job.
  struct JobClaim: Sendable {
    let id: String
    let fence: Int64
    let worker: Int64

    var parameters: [PostgresValue] { [.text(id), .integer(fence), .integer(worker)] }
  }

  /// What a worker writes of a job that it has claimed.
  protocol FencedWrite: Sendable {
    var claim: JobClaim { get }
    /// The length of what is written, in bytes.
    var size: Int { get }
    /// The name of a function, whose first parameters are the ids, the fencing numbers and the workers of the claims.
    static var function: String { get }
    /// The types of its further parameters.
    static var types: [String] { get }
    /// The function's text.
    ///
    /// Returns the fencing number of each write that is stored, by this statement or by one that was cut off, the job's id if it
    /// is watched, and its name if it is queued.
    static var statement: String { get }
    /// What the function does before the statement, whose snapshot is later.
    static var preparation: String { get }
    static func parameters(_ writes: [Self]) -> [PostgresValue]
    /// Does what the function does; returns whether the write is stored, by this call or an earlier one.
    func write(to fleet: inout MemoryFleet, at now: Double) throws -> Bool
  }

  extension FencedWrite {
    static var preparation: String { "" }

    private static var allTypes: [String] { ["text[]", "bigint[]", "bigint[]"] + types }

    static var call: String {
      "SELECT * FROM @.\(function)(\(allTypes.indices.map { "$\($0 + 1)" }.joined(separator: ", ")))"
    }

    /// Creates the function.
    ///
    /// The settings make the planner look up each job by its id, also when the table was small or had no statistics at the
    /// first call. `starts_with` keeps it from reading the index of running jobs, with those of all workers in it.
    static var definition: String {
      """
      CREATE OR REPLACE FUNCTION @.\(function)(\(allTypes.joined(separator: ", ")))
        RETURNS TABLE (o_fence bigint, o_watched text, o_queued text) LANGUAGE plpgsql
        SET jit = off SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
        SET plan_cache_mode = force_generic_plan
      AS $write$
      BEGIN
        \(preparation)
        RETURN QUERY \(statement);
      END
      $write$;
      """
    }
  }

  /// A stage to save.
  struct StageSave: FencedWrite {
    let claim: JobClaim
    let version: Int64
    let shape: Int64
    let stage: String
    let isLast: Bool
    /// The numbers of the signals that the stage has received.
    var signals: [Int64] = []

    var size: Int { stage.utf8.count }

    static let function = "save_stages"
    static let preparation = FleetSignals.locking("$8")
    static let types = ["bigint[]", "bigint[]", "text[]", "boolean[]", "bigint[]"]

    static func parameters(_ saves: [StageSave]) -> [PostgresValue] {
      [
        .integers(saves.map(\.version)), .integers(saves.map(\.shape)), .texts(saves.map(\.stage)),
        .flags(saves.map(\.isLast)), .integers(saves.flatMap(\.signals)),
      ]
    }

    static let statement = """
      WITH input AS (
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::boolean[])
          AS i(id, fence, worker, version, shape, stage, is_last)
      ), earlier AS (
        SELECT j.fence FROM @.jobs j JOIN input i ON i.id = j.id
        WHERE j.fence = i.fence AND j.version = i.version AND j.stage = i.stage
          AND (j.state = 'done' OR j.state = 'running' AND j.worker = i.worker)
      ), changed AS (
        UPDATE @.jobs j SET
          stage = i.stage, shape = i.shape, version = i.version, attempt = 1, deaths = 0, is_parked = false, error = NULL,
          state = CASE WHEN i.is_last THEN 'done' ELSE 'running' END,
          worker = CASE WHEN i.is_last THEN NULL ELSE j.worker END,
          finished_at = CASE WHEN i.is_last THEN clock_timestamp() END
        FROM input i
        WHERE j.id = i.id AND j.fence = i.fence AND j.worker = i.worker AND starts_with(j.state, 'running')
          AND j.version = i.version - 1
          AND \(FleetSignals.none(dropped: "$8"))
        RETURNING j.id, j.fence, j.version, j.shape, j.stage, j.keeps_stages AND NOT i.is_last AS is_kept, j.watched_until
      ), taken AS (
        UPDATE @.signals s SET is_taken = true, value = '' FROM changed
        WHERE $8::bigint[] <> '{}' AND s.job = changed.id AND s.number = ANY ($8)
      ), kept AS (
        INSERT INTO @.stages (id, version, shape, stage)
        SELECT id, version, shape, stage FROM changed WHERE is_kept
      )
      SELECT fence, CASE WHEN watched_until > now() THEN id END, NULL::text FROM changed
      UNION ALL SELECT fence, NULL, NULL FROM earlier
      """
  }

  /// An entry to append.
  struct EntrySave: FencedWrite {
    let claim: JobClaim
    let number: Int64
    let entry: [UInt8]
    /// The numbers of the signals that the entry consumes.
    let signals: [Int64]

    var size: Int { entry.count }

    static let function = "append_entries"
    static let preparation = FleetSignals.locking("$6")
    static let types = ["bigint[]", "bytea[]", "bigint[]"]

    static func parameters(_ entries: [EntrySave]) -> [PostgresValue] {
      [.integers(entries.map(\.number)), .blobs(entries.map(\.entry)), .integers(entries.flatMap(\.signals))]
    }

    /// Appends entries, with the signals that they consume; one that is stored is an attempt's progress.
    ///
    /// A standby that was promoted may lack the last entry of a run that continues: a further one would hide that.
    static let statement = """
      WITH input AS (
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])
          AS i(id, fence, worker, number, entry)
      ), held AS (
        SELECT j.id, j.fence, j.attempt > 1 OR j.is_parked AS advances, i.number, i.entry FROM @.jobs j JOIN input i ON i.id = j.id
        WHERE j.fence = i.fence AND j.worker = i.worker AND starts_with(j.state, 'running')
          AND (i.number = 2 OR EXISTS (SELECT FROM @.entries e WHERE e.job = j.id AND e.number = i.number - 1))
          AND \(FleetSignals.none(dropped: "$6"))
        ORDER BY j.id FOR NO KEY UPDATE OF j
      ), added AS (
        INSERT INTO @.entries AS e (job, number, entry) SELECT id, number, entry FROM held
        ON CONFLICT (job, number) DO UPDATE SET entry = e.entry WHERE e.entry = EXCLUDED.entry
        RETURNING job
      ), taken AS (
        UPDATE @.signals s SET is_taken = true, value = '' FROM added WHERE s.job = added.job AND s.number = ANY ($6::bigint[])
      ), progress AS (
        UPDATE @.jobs j SET attempt = 1, deaths = 0, is_parked = false, error = NULL FROM held
        WHERE j.id = held.id AND held.advances
      )
      SELECT held.fence, NULL::text, NULL::text FROM held JOIN added ON added.job = held.id
      """
  }

  /// A job that only waits from now on, in its worker's memory.
  ///
  /// Its next write, or its next claim, says that it works again; if its worker ends in between, one further attempt does not
  /// count.
  struct ParkedJob: FencedWrite {
    let claim: JobClaim
    /// The signals that it waits for.
    var signals: [String] = []
    /// When the wait ends, in seconds since 1970.
    var end = Double.infinity

    var size: Int { 0 }

    static let function = "park_jobs"
    static let types = ["text[]", "text[]"]

    static func parameters(_ jobs: [ParkedJob]) -> [PostgresValue] {
      [.texts(jobs.map { PostgresValue.texts($0.signals).literal }), .texts(jobs.map { "\($0.end)" })]
    }

    /// A job that has reached its wait is not the one that its workers died of.
    static let statement = """
      WITH input AS (
        SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])
          AS i(id, fence, worker, signals, wait_end)
      )
      UPDATE @.jobs j SET
        is_parked = true, parked_for = i.signals::text[], waits_since = clock_timestamp(),
        waits_until = to_timestamp(i.wait_end::float8), attempt = j.attempt - j.deaths, deaths = 0, error = CASE WHEN j.deaths = 0 THEN j.error END
      FROM input i
      WHERE j.id = i.id AND j.fence = i.fence AND j.worker = i.worker AND starts_with(j.state, 'running')
      RETURNING j.fence, NULL::text, NULL::text
      """
  }

  /// How an attempt ends other than by a save of the last stage.
  struct Ending: Sendable {
    var state: FleetState
    var delay: Duration = .zero
    var error: String?
    /// The jobs, or the signals, that end a wait.
    var waitsFor: [String]?
    /// When a wait ends, in seconds since 1970.
    var end: Double?
    /// The jobs that end a wait which a signal or a time ends as well.
    var children: [String]?
    /// A Boolean value that indicates whether the attempt does not count.
    var isUncounted = false
    /// The outcome of a chain, as it is stored.
    var outcome: String?
    /// The name of the codec that cannot read what the job has stored.
    var unreadCodec: String?
    /// The error of a chain's outcome, for the event.
    var failure: (any Error)?

    /// The text of an error, as it is stored.
    static func text(_ error: Any) -> String {
      let text = String(describing: error).replacing("\0", with: "")
      return text.count > 2_000 ? text.prefix(2_000) + "…" : text
    }
  }

  extension Ending {
    /// Returns what to store instead of what the database has refused, as it cannot store a character or so much.
    func replaced(after refusal: any Error) -> Ending {
      if let error, !error.utf8.allSatisfy({ $0 < 128 }) {
        var ending = self
        ending.error = Self.ascii(error)
        return ending
      }
      return Ending(state: .failed, error: error ?? Self.ascii("\(refusal)"))
    }

    static func ascii(_ text: String) -> String {
      String(String.UnicodeScalarView(text.unicodeScalars.map { $0.isASCII ? $0 : "?" }))
    }
  }

  /// An attempt that has ended, and how.
  struct EndedAttempt: FencedWrite {
    let claim: JobClaim
    let ending: Ending

    var size: Int { ending.outcome?.utf8.count ?? 0 }

    static let function = "end_attempts"
    static let types = ["text[]", "text[]", "text[]", "text[]", "boolean[]", "text[]", "text[]", "text[]", "text[]"]

    static func parameters(_ attempts: [EndedAttempt]) -> [PostgresValue] {
      let endings = attempts.map(\.ending)
      return [
        .texts(endings.map(\.state.description)), .texts(endings.map { "\($0.delay / .seconds(1))" }),
        .texts(endings.map(\.error)), .texts(endings.map { PostgresValue.texts($0.waitsFor ?? []).literal }),
        .flags(endings.map(\.isUncounted)), .texts(endings.map(\.outcome)),
        .texts(endings.map { $0.end.map { "\($0)" } }),
        .texts(endings.map { $0.children.flatMap { PostgresValue.texts($0).literal } }),
        .texts(endings.map(\.unreadCodec)),
      ]
    }

    static let statement = """
      WITH input AS (
        -- A worker of an earlier version schedules a job whose waits are over for no time at all.
        SELECT *, state = 'scheduled' AND wait_end::float8 = 'infinity' AND waits_for = '{}' AS is_due,
          is_uncounted AND (wait_end IS NOT NULL OR waits_for <> '{}') AS waits,
          -- A chain that failed and was not undone. Where it is cancelled, it is undone.
          state = 'failed' AND is_uncounted AS is_held
        FROM unnest(
          $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::text[], $8::boolean[], $9::text[],
          $10::text[], $11::text[], $12::text[]
        ) AS i(id, fence, worker, state, delay, error, waits_for, is_uncounted, outcome, wait_end, children, unread_codec)
      ), changed AS (
        UPDATE @.jobs j SET
          state = CASE WHEN j.cancel_requested AND i.state <> 'done' AND NOT starts_with(j.name, 'chain ') THEN 'cancelled'
            WHEN j.cancel_requested AND (i.wait_end IS NOT NULL OR i.is_held) OR i.is_due THEN 'queued' ELSE i.state END,
          run_at = CASE WHEN j.cancel_requested AND i.wait_end IS NOT NULL OR i.is_due THEN clock_timestamp()
            WHEN i.wait_end IS NOT NULL THEN to_timestamp(i.wait_end::float8)
            WHEN i.state = 'scheduled' THEN clock_timestamp() + i.delay::float8 * interval '1 second' ELSE j.run_at END,
          error = CASE WHEN i.outcome IS NULL AND i.state <> 'done' THEN coalesce(i.error, j.error) ELSE i.error END,
          waits_for = i.waits_for::text[], children = i.children::text[], worker = NULL, waits_since = clock_timestamp(),
          waits_until = to_timestamp(i.wait_end::float8), unread_codec = i.unread_codec,
          attempts = CASE WHEN i.waits OR i.state = 'done' OR i.unread_codec IS NOT NULL THEN j.attempts ELSE @.attempted(j, i.state, i.error) END,
          attempt = j.attempt - CASE WHEN i.waits THEN 1 + j.deaths WHEN i.is_uncounted THEN 1 ELSE 0 END,
          deaths = CASE WHEN i.waits THEN 0 ELSE j.deaths END,
          finished_at = CASE WHEN i.is_held AND j.cancel_requested THEN NULL WHEN i.state IN ('done', 'failed', 'cancelled')
            OR j.cancel_requested AND NOT starts_with(j.name, 'chain ') THEN clock_timestamp() END,
          stage = coalesce(i.outcome, j.stage)
        FROM input i
        WHERE j.id = i.id AND j.fence = i.fence AND j.worker = i.worker AND starts_with(j.state, 'running')
        RETURNING j.id, j.fence, j.name, j.state, j.watched_until > now() AS is_watched, i.outcome,
          -- A parent may have to undo a child that is done.
          j.keeps_stages OR j.parent IS NOT NULL AND i.state = 'done' AS keeps_entries
      ), gone AS (
        DELETE FROM @.entries e USING changed c WHERE c.outcome IS NOT NULL AND NOT c.keeps_entries AND e.job = c.id
      )
      SELECT fence, CASE WHEN is_watched THEN id END, CASE WHEN state = 'queued' THEN name END FROM changed
      """
  }
#endif
