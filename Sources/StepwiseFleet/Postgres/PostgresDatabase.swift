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

    /// Runs a statement that may be repeated, in which "@" stands for the schema.
    @discardableResult
    func run(
      _ sql: String,
      _ parameters: [PostgresValue] = [],
      within limit: Duration = .seconds(35)
    ) async throws -> [PostgresRow] {
      try await migrate()
      return try await pool.run(schema.statement(sql), parameters, within: limit)
    }

    /// Whether there are tables.
    var isInstalled: Bool {
      get async throws { try await schema.has("jobs", pool) }
    }

    /// Runs a statement that is not sent again.
    func once(_ sql: String, _ parameters: [PostgresValue], within limit: Duration) async throws -> [PostgresRow] {
      try await migrate()
      return try await pool.once(schema.statement(sql), parameters, within: limit)
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

    /// Returns a statement with the schema in place of "@", also after the apostrophe that begins a text.
    func statement(_ sql: String) -> String {
      let parts = sql.split(separator: "@", omittingEmptySubsequences: false)
      return parts.dropFirst().reduce(into: String(parts[0])) { text, part in
        text += text.utf8.last == UInt8(ascii: "'") ? quoted.replacing("'", with: "''") : quoted
        text += part
      }
    }

    /// One statement per step; a step that has run never changes.
    private static let steps = [
      [
        FleetTables.tables, FleetTables.triggers, FleetTables.functions, FleetClaim.function, StageSave.definition,
        EntrySave.definition, EndedAttempt.definition,
      ].joined(separator: "\n")
    ]

    /// Runs the steps that have not run, once, however many workers request it concurrently.
    ///
    /// A transaction holds an advisory lock while it checks and changes the schema, so it is atomic.
    func migrate(_ pool: PostgresPool) async throws {
      try check()
      if try await has("migrations", pool) {
        let count = try await pool.run(statement("SELECT count(*) FROM @.migrations")).first?.integer(0) ?? 0
        if count >= Self.steps.count { return }
      }
      try await pool.run(script)
    }

    func has(_ table: String, _ pool: PostgresPool) async throws -> Bool {
      try await pool.run("SELECT to_regclass($1) IS NOT NULL", [.text("\(quoted).\(table)")]).first?.isTrue(0) == true
    }

    /// One statement that runs the steps that have not run.
    var script: String {
      let steps = Self.steps.enumerated().map { index, step in
        """
          IF NOT EXISTS (SELECT FROM @.migrations WHERE step = \(index)) THEN
            \(step)
            INSERT INTO @.migrations VALUES (\(index), now());
          END IF;
        """
      }
      let script = """
        BEGIN
          PERFORM pg_advisory_xact_lock(hashtext('stepwise:' || current_database()), hashtext('@'));
          IF to_regnamespace('@') IS NULL THEN CREATE SCHEMA @; END IF;
          CREATE TABLE IF NOT EXISTS @.migrations (step bigint PRIMARY KEY, ran_at timestamptz NOT NULL);
        \(steps.joined(separator: "\n"))
        END
        """
      return "DO \(Self.dollarQuoted(statement(script)))"
    }

    /// Checks the name's length: PostgreSQL cuts off the rest, and two names that begin alike would be one schema.
    func check() throws(PostgresError) {
      guard !(1...63).contains(name.utf8.count) else { return }
      let message = "the schema's name has \(name.utf8.count) bytes of UTF-8, not 1 to 63: \(name)"
      throw PostgresError(code: .statement, sqlState: "42622", message: message)
    }

    /// A text between dollar quotes with a tag that it does not contain.
    private static func dollarQuoted(_ text: String) -> String {
      var tag = "stepwise"
      while text.contains("$\(tag)$") { tag += "_" }
      return "$\(tag)$\(text)$\(tag)$"
    }
  }
#endif
