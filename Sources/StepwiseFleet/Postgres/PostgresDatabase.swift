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

    /// Runs a statement that is not sent again.
    func once(_ sql: String, _ parameters: [PostgresValue], within limit: Duration) async throws -> [PostgresRow] {
      try await migrate()
      return try await pool.once(statement(sql), parameters, within: limit)
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
#endif
