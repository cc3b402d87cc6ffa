// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  public import Stepwise
  import StepwiseCheckpoints

  extension Fleet {
    /// How many jobs one statement enqueues at most.
    private static let batch = 5_000

    /// Enqueues a progression, unless the fleet has a job with the id.
    ///
    /// - Parameters:
    ///   - progression: The stage to begin with.
    ///   - id: The name of this piece of work: 1 to 200 bytes of UTF-8 without NUL.
    ///   - options: Priority, key and time.
    /// - Returns: A Boolean value that indicates whether the id was free.
    /// - Throws: ``FleetError`` when the id or the stage cannot be stored; ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<P: Progression & Codable>(
      _ progression: P,
      id: String,
      options: FleetOptions = FleetOptions()
    ) async throws -> Bool {
      try await enqueue([(id: id, progression: progression)], options: options) == 1
    }

    /// Enqueues many progressions, except those whose ids the fleet has.
    ///
    /// At most 5,000 are one statement, which enqueues all of them or none.
    ///
    /// - Parameters:
    ///   - progressions: The ids and the stages to begin with.
    ///   - options: Priority, key and time of all of them.
    /// - Returns: The number of jobs that were added.
    /// - Throws: ``FleetError`` when an id or a stage cannot be stored; ``PostgresError``.
    @discardableResult
    @concurrent public func enqueue<P: Progression & Codable>(
      _ progressions: [(id: String, progression: P)],
      options: FleetOptions = FleetOptions()
    ) async throws -> Int {
      try await enqueue(progressions, options: options, parent: nil)
    }

    /// Enqueues progressions in a transaction of the caller's, except those whose ids the fleet has.
    ///
    /// The jobs exist once that transaction commits. The tables must exist: any other operation creates them.
    ///
    /// - Parameters:
    ///   - progressions: The ids and the stages to begin with.
    ///   - options: Priority, key and time of all of them.
    ///   - execute: Runs a statement in the transaction, with its parameters bound as text; once for each 5,000 jobs.
    /// - Throws: ``FleetError`` when an id or a stage cannot be stored; what the closure throws.
    public nonisolated(nonsending) func enqueue<P: Progression & Codable>(
      _ progressions: [(id: String, progression: P)],
      options: FleetOptions = FleetOptions(),
      through execute: (FleetStatement) async throws -> Void
    ) async throws {
      try database.schema.check()
      for batch in batches(progressions) {
        let parameters = try parameters(batch, options, parent: nil, channel: configuration.schema)
        let statement = database.statement(Self.insertion)
        try await execute(FleetStatement(sql: statement, parameters: parameters.map(\.literal)))
      }
    }

    func enqueue<P: Progression & Codable>(
      _ progressions: [(id: String, progression: P)],
      options: FleetOptions,
      parent: String?
    ) async throws -> Int {
      var count = 0
      for batch in batches(progressions) {
        let parameters = try parameters(batch, options, parent: parent, channel: nil)
        let row = try await database.run(Self.insertion, parameters).first
        count += Int(row?.integer(0) ?? 0)
        if row?.isTrue(1) == true { await announce() }
      }
      return count
    }

    /// Notifies workers of queued jobs, in a transaction that writes nothing.
    ///
    /// A commit with a notification holds a lock that all such commits in the server need, until the disk has it.
    func announce() async {
      _ = try? await database.run("SELECT pg_notify($1, 'q')::text", [.text(configuration.schema)])
    }

    private func batches<Element>(_ elements: [Element]) -> [ArraySlice<Element>] {
      stride(from: 0, to: elements.count, by: Self.batch).map { start in
        elements[start..<min(start + Self.batch, elements.count)]
      }
    }

    /// One parameter a column, so that the statement is the same for any number of jobs.
    private func parameters<P: Progression & Codable>(
      _ batch: ArraySlice<(id: String, progression: P)>,
      _ options: FleetOptions,
      parent: String?,
      channel: String?
    ) throws -> [PostgresValue] {
      let coder = StageCoder<P>()
      let stages = try batch.map { id, progression in
        try Self.check(id)
        do {
          return try String(decoding: coder.encode(progression), as: UTF8.self)
        } catch {
          throw FleetError.unstorable(id: id, reason: "its first stage cannot be encoded: \(error)")
        }
      }
      if options.key?.utf8.contains(0) == true {
        throw FleetError.unstorable(id: batch.first?.id ?? "", reason: "its key contains a NUL")
      }
      let (isAbsolute, seconds): (Bool, Double) =
        switch options.start {
        case .now: (false, 0)
        case .after(let delay): (false, max(0, delay / .seconds(1)))
        case .at(let seconds): (true, seconds)
        }
      return [
        .texts(batch.map(\.id)), .texts(stages), .text(coder.name), .integer(Int64(coder.schemaVersion)),
        .integer(Int64(options.priority)), options.key.map { .text($0) } ?? .nullText, .real(seconds),
        .integer(isAbsolute ? 1 : 0), .integer(options.keepsStages ? 1 : 0), parent.map { .text($0) } ?? .nullText,
        channel.map { .text($0) } ?? .nullText,
      ]
    }

    /// Checks that an id can be stored.
    static func check(_ id: String) throws(FleetError) {
      guard (1...200).contains(id.utf8.count), !id.utf8.contains(0) else { throw .invalidID(id: id) }
    }

    private static let insertion = """
      WITH due AS (
        SELECT CASE WHEN $8::bigint = 1 THEN to_timestamp($7::float8)
          ELSE clock_timestamp() + $7::float8 * interval '1 second' END AS run_at
      ), added AS (
        INSERT INTO @.jobs
          (id, name, key, priority, state, run_at, keeps_stages, first_shape, first, shape, parent)
        SELECT j.id, $3::text, $6::text, $5::bigint,
          CASE WHEN due.run_at > clock_timestamp() THEN 'scheduled' ELSE 'queued' END, due.run_at, $9::bigint = 1,
          $4::bigint, j.stage, $4::bigint, $10::text
        FROM due, unnest($1::text[], $2::text[]) AS j(id, stage)
        ON CONFLICT (id) DO NOTHING
        RETURNING state
      ), counted AS (SELECT count(*) AS n, bool_or(state = 'queued') AS is_ready FROM added)
      SELECT n, is_ready, CASE WHEN is_ready AND $11::text IS NOT NULL THEN pg_notify($11::text, 'q')::text END FROM counted
      """
  }
#endif
