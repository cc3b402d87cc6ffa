// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  /// A schema of a database whose tables are brought up to date before the first statement.
  final class PostgresDatabase: Sendable {
    let connectionString: String
    let schema: PostgresSchema
    private let pool: PostgresPool
    private let migration = Lock<Task<Void, any Error>?>(nil)

    init(_ connectionString: String, schema: String, maxConnections: Int) {
      self.connectionString = connectionString
      self.schema = PostgresSchema(name: schema)
      pool = PostgresPool(connectionString, size: maxConnections)
    }

    /// Replaces "@" in a statement with the schema.
    func statement(_ sql: String) -> String { sql.replacing("@", with: schema.quoted) }

    /// Runs a statement that may be repeated, in which "@" stands for the schema.
    @discardableResult
    func run(
      _ sql: String,
      _ parameters: [PostgresValue] = [],
      within limit: Duration = .seconds(35)
    ) async throws -> [PostgresRow] {
      try await migrate()
      return try await pool.run(statement(sql), parameters, within: limit)
    }

    /// Whether there are tables.
    var isInstalled: Bool {
      get async throws { try await schema.has("jobs", pool) }
    }

    /// Runs a statement that is not sent again.
    func once(_ sql: String, _ parameters: [PostgresValue], within limit: Duration) async throws -> [PostgresRow] {
      try await migrate()
      return try await pool.once(statement(sql), parameters, within: limit)
    }

    /// Notifies the observers of jobs, without waiting, as commits with notifications wait for each other.
    func notify(_ ids: [String]) {
      guard !ids.isEmpty else { return }
      _ = spawn { [self] in
        let statement = "SELECT pg_notify($1, 's' || id)::text FROM unnest($2) AS watched(id)"
        _ = try? await run(statement, [.text(schema.name), .texts(ids)])
      }
    }

    private func migrate() async throws {
      let migration = migration.withLock { migration in
        if let migration { return migration }
        let task = Task { [pool, schema] in try await schema.migrate(pool) }
        migration = task
        return task
      }
      do {
        try await migration.value
      } catch {
        // The next operation tries again.
        self.migration.withLock { if $0 == migration { $0 = nil } }
        throw error
      }
    }
  }

  /// The tables, in a separate schema, and their migrations.
  struct PostgresSchema: Sendable {
    let name: String

    /// The name as SQL has it: quotes in it are doubled, so that no name can end the identifier.
    var quoted: String { "\"" + name.replacing("\"", with: "\"\"") + "\"" }

    /// One statement per step; a step that has run never changes.
    ///
    /// A function whose text changes is a new last step, and its old step does nothing in a new schema.
    private var steps: [String] {
      [
        """
        CREATE SEQUENCE \(quoted).fences;
        CREATE TABLE \(quoted).checkpoints (
          id bytea PRIMARY KEY,
          fence bigint NOT NULL,
          holder text NOT NULL,
          lease_until timestamptz,
          progression bytea,
          schema_version bigint,
          version bigint,
          checksum bigint,
          first bytea,
          stage bytea,
          saved_at timestamptz
        )
        """,
        FleetTables.tables(quoted),
        "NULL",
        "NULL",
        FleetWaits.table(quoted),
        FleetWaits.follow(quoted),
        "NULL",
        FleetTables.keys(quoted),
        [FleetTables.pauses, FleetTables.sweep, FleetTables.announce, FleetClaim.queue]
          .map { $0(quoted) }.joined(separator: ";"),
        [FleetChains.tables, FleetChains.triggers, FleetChains.send].map { $0(quoted) }.joined(separator: ";"),
        FleetChains.times(quoted),
        [FleetClaim.claim, FleetTables.cancel].map { $0(quoted) }.joined(separator: ";"),
        [StageSave.definition, EntrySave.definition, EndedAttempt.definition].map { $0(quoted) }.joined(separator: ";"),
      ]
    }

    /// Runs the steps that have not run, once, however many workers request it concurrently.
    ///
    /// A transaction holds an advisory lock while it checks and changes the schema, so it is atomic.
    func migrate(_ pool: PostgresPool) async throws {
      try check()
      if try await has("migrations", pool) {
        let count = try await pool.run("SELECT count(*) FROM \(quoted).migrations").first?.integer(0) ?? 0
        if count >= steps.count { return }
      }
      try await pool.run(script)
    }

    func has(_ table: String, _ pool: PostgresPool) async throws -> Bool {
      try await pool.run("SELECT to_regclass($1) IS NOT NULL", [.text("\(quoted).\(table)")]).first?.isTrue(0) == true
    }

    /// One statement that runs the steps that have not run.
    var script: String {
      let statements = steps.enumerated().map { index, step in
        """
          IF NOT EXISTS (SELECT FROM \(quoted).migrations WHERE step = \(index)) THEN
            \(step);
            INSERT INTO \(quoted).migrations VALUES (\(index), now());
          END IF;
        """
      }
      let script = """
        BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('stepwise:' || current_database()), hashtext(\(literal)));
          IF to_regnamespace(\(literal)) IS NULL THEN CREATE SCHEMA \(quoted); END IF;
          CREATE TABLE IF NOT EXISTS \(quoted).migrations (step bigint PRIMARY KEY, ran_at timestamptz NOT NULL);
        \(statements.joined(separator: "\n"))
        END
        """
      return "DO \(Self.dollarQuoted(script))"
    }

    /// Checks the name's length: PostgreSQL cuts off the rest, and two names that begin alike would be one schema.
    func check() throws(PostgresError) {
      guard !(1...63).contains(name.utf8.count) else { return }
      let message = "the schema's name has \(name.utf8.count) bytes of UTF-8, not 1 to 63: \(name)"
      throw PostgresError(code: .statement, sqlState: "42622", message: message)
    }

    /// The quoted name as a string literal.
    private var literal: String { "'" + quoted.replacing("'", with: "''") + "'" }

    /// A text between dollar quotes with a tag that it does not contain.
    private static func dollarQuoted(_ text: String) -> String {
      var tag = "stepwise"
      while text.contains("$\(tag)$") { tag += "_" }
      return "$\(tag)$\(text)$\(tag)$"
    }
  }
#endif
