// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  /// The store of a fleet in PostgreSQL.
  struct PostgresStore: FleetStore {
    let database: PostgresDatabase
    /// Whether to listen for notifications.
    let listens: Bool

    init(_ connectionString: String, _ configuration: FleetConfiguration) {
      database = PostgresDatabase(
        connectionString,
        schema: configuration.schema,
        maxConnections: configuration.maxConnections
      )
      listens = configuration.listens
    }

    var clock: FleetClock { .system }

    func listen(while isNeeded: @escaping @Sendable () -> Bool, _ receive: @escaping FleetHub.Call) {
      guard listens else { return }
      FleetHub.listen(database.connectionString, database.schema.name, while: isNeeded, receive)
    }

    func waitUntilDue(upTo poll: Duration) async { try? await Task.sleep(for: poll) }
  }

  /// Enqueuing and signals.
  extension PostgresStore {
    func enqueue(_ jobs: NewJobs) async throws -> (count: Int, isReady: Bool) {
      let insertion = Self.insertion(jobs.options.replacing)
      let row = try await database.run(insertion, jobs.parameters(channel: nil)).first
      return (Int(row?.integer(0) ?? 0), row?.isTrue(1) == true)
    }

    func enqueueEach(_ jobs: NewJobs) async throws -> (added: [String], isReady: Bool) {
      let insertion = Self.insertion(jobs.options.replacing, selecting: "SELECT id, state = 'queued' FROM added")
      let rows = try await database.run(insertion, jobs.parameters(channel: nil))
      return (rows.compactMap { $0.text(0) }, rows.contains { $0.isTrue(1) })
    }

    func foreignJob(in batch: FleetBatch) async throws -> (id: String, name: String)? {
      let foreign = "SELECT id, name FROM @.jobs WHERE id = ANY ($1) AND name <> $2 ORDER BY id LIMIT 1"
      let row = try await database.run(foreign, [.texts(batch.ids), .text(batch.name)]).first
      return row.map { ($0.text(0) ?? "", $0.text(1) ?? "") }
    }

    func statement(for jobs: NewJobs) throws -> FleetStatement {
      try database.schema.check()
      let parameters = jobs.parameters(channel: database.schema.name)
      let insertion = database.schema.statement(Self.insertion(jobs.options.replacing))
      return FleetStatement(sql: insertion, parameters: parameters.map(\.literal))
    }

    func announce(_ counts: [(name: String, count: Int)]) async throws {
      try await database.run(
        "SELECT @.announce($1, u.name, u.n) FROM unnest($2::text[], $3::bigint[]) AS u(name, n)",
        [.text(database.schema.name), .texts(counts.map(\.name)), .integers(counts.map { Int64($0.count) })]
      )
    }

    func send(_ signal: SignalText, to id: String) async throws -> SignalAnswer {
      let row = try await database.run(
        "SELECT o_answer, o_state, o_name FROM @.send($1, $2, $3, $4)",
        [.text(id)] + signal.parameters
      ).first
      return SignalAnswer(row?.text(0), row?.text(1), row?.text(2))
    }

    func start(_ job: NewJobs, sending signal: SignalText) async throws -> (isAdded: Bool, answer: SignalAnswer) {
      let row = try await database.run(
        """
        SELECT o_is_added, o_answer, o_state, o_name FROM @.start_with_signal(
          $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16
        )
        """,
        job.parameters(channel: nil) + signal.parameters + [.flag(job.options.replacing == .finished)]
      ).first
      return (row?.isTrue(0) ?? false, SignalAnswer(row?.text(1), row?.text(2), row?.text(3)))
    }

    func notify(_ ids: [String]) { database.notify(ids) }

    func dropSignals(_ name: String, of id: String, message: String?) async throws -> Int {
      try await database.run(
        """
        UPDATE @.signals SET is_taken = true, is_dropped = true, value = ''
        WHERE job = $1 AND name = $2 AND NOT is_taken AND ($3::text IS NULL OR message = $3) RETURNING number
        """,
        [.text(id), .text(name), .text(message)]
      ).count
    }

    func refusedSignals(of id: String) async throws -> [FleetRefusedSignal] {
      try await database.run(
        """
        SELECT name, value, refusal, extract(epoch FROM sent_at)::float8 FROM @.signals
        WHERE job = $1 AND refusal IS NOT NULL AND NOT is_taken ORDER BY number
        """,
        [.text(id)]
      ).map {
        FleetRefusedSignal(
          name: $0.text(0) ?? "",
          json: $0.text(1) ?? "",
          reason: $0.text(2) ?? "",
          sentAt: $0.date(3) ?? .distantPast
        )
      }
    }
  }

  extension SignalText {
    var parameters: [PostgresValue] { [.text(name), .text(message), .text(text)] }
  }

  extension SignalAnswer {
    fileprivate init(_ answer: String?, _ state: String?, _ name: String?) {
      let state = FleetState(state ?? "")
      self =
        switch answer {
        case "added": .added(state, name: name ?? "")
        case "known": .known
        case "ended": .ended(state)
        case "foreign": .foreign(name: name ?? "")
        default: .unknown
        }
    }
  }

  extension NewJobs {
    /// One parameter a column, so that the statement is the same for any number of jobs.
    func parameters(channel: String?) -> [PostgresValue] {
      let (isAbsolute, seconds) = options.start.seconds
      return [
        .texts(batch.ids), .texts(batch.stages), .text(batch.name), .integer(Int64(batch.shape)),
        .integer(Int64(options.priority)), .text(options.key), .real(seconds), .flag(isAbsolute),
        .flag(options.keepsStages), .text(parent), .text(channel),
        .tags(options.tags),
      ]
    }
  }

  extension PostgresStore {
    /// Inserts jobs, and returns their number and whether one is ready, or what else is selected.
    static func insertion(_ replacing: FleetOptions.Replacement, selecting selection: String? = nil) -> String {
      let conflict =
        switch replacing {
        case .nothing: "DO NOTHING"
        case .finished:
          """
          DO UPDATE SET seq = DEFAULT, turn = EXCLUDED.turn, name = EXCLUDED.name, key = EXCLUDED.key, tags = EXCLUDED.tags, priority = EXCLUDED.priority,
            state = EXCLUDED.state, run_at = EXCLUDED.run_at, attempt = 0, deaths = 0, worker = NULL,
            cancel_requested = EXCLUDED.cancel_requested, cancel_reason = EXCLUDED.cancel_reason, keeps_stages = EXCLUDED.keeps_stages, version = 1, first_shape = EXCLUDED.first_shape,
            first = EXCLUDED.first, shape = EXCLUDED.shape, stage = NULL, error = NULL, note = NULL, parent = EXCLUDED.parent,
            waits_for = NULL, waits_since = NULL, waits_until = NULL, paused_at = NULL, attempts = NULL,
            deadlines = NULL, unread_codec = NULL, created_at = clock_timestamp(), started_at = NULL,
            finished_at = EXCLUDED.finished_at
            WHERE jobs.finished_at IS NOT NULL
              AND NOT (jobs.state = 'failed' AND jobs.stage IS NULL AND starts_with(jobs.name, 'chain '))
          """
        }
      return """
        WITH due AS (
          SELECT CASE WHEN $8::boolean THEN to_timestamp($7::float8)
            ELSE clock_timestamp() + $7::float8 * interval '1 second' END AS run_at,
            @.turn($3::text, $6::text, $5::bigint) AS turn
        ), cancelled AS (
          SELECT cancel_requested AS is_set, cancel_reason AS reason FROM @.jobs WHERE id = $10::text FOR KEY SHARE
        ), added AS (
          INSERT INTO @.jobs (
            id, name, key, priority, state, run_at, keeps_stages, first_shape, first, shape, parent, cancel_requested,
            cancel_reason, finished_at, turn, tags
          )
          SELECT j.id, $3::text, $6::text, $5::bigint, CASE WHEN c.is_set THEN 'cancelled'
              WHEN due.run_at > clock_timestamp() THEN 'scheduled' ELSE 'queued' END,
            due.run_at, $9::boolean, $4::bigint, j.stage, $4::bigint, $10::text, coalesce(c.is_set, false), c.reason,
            CASE WHEN c.is_set THEN clock_timestamp() END, due.turn + CASE WHEN $6::text IS NULL THEN 0 ELSE j.n - 1 END,
            $12::text[]
          FROM due CROSS JOIN unnest($1::text[], $2::text[]) WITH ORDINALITY AS j(id, stage, n) LEFT JOIN cancelled c ON true
          ON CONFLICT (id) \(conflict)
          RETURNING id, state
        ), set_back AS (
          UPDATE @.marks m SET until = '-infinity' FROM due
          WHERE m.name = $3 AND m.until > clock_timestamp() AND due.run_at <= clock_timestamp()
            AND (~ $5::bigint, due.turn, due.run_at) < (m.rank, m.turn, m.run_at)
        ), counted AS (SELECT count(*) AS n, bool_or(state = 'queued') AS is_ready FROM added)
        \(selection ?? result)
        """
    }

    private static let result = """
      SELECT n, is_ready, CASE WHEN is_ready AND $11::text IS NOT NULL THEN @.announce($11::text, $3::text, n) END FROM counted
      """
  }
#endif
