// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Dispatch
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

    /// Runs a statement in which "@" stands for the schema; it may be repeated, unless it is attempted once.
    @discardableResult
    func run(
      _ sql: String,
      _ parameters: [PostgresValue] = [],
      within limit: Duration = .seconds(35),
      attempts: Int = 6
    ) async throws -> [PostgresRow] {
      try await migrate()
      return try await pool.run(schema.statement(sql), parameters, within: limit, attempts: attempts)
    }

    /// Whether there are tables.
    var isInstalled: Bool {
      get async throws { try await schema.has("jobs", pool) }
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
      if try await has("passed", pool) {
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
          -- The first versions had other steps, and no view.
          IF to_regclass('@.jobs') IS NOT NULL AND to_regclass('@.passed') IS NULL THEN
            RAISE EXCEPTION 'the schema % has the tables of an earlier version, which this one cannot use; let its jobs end '
              'and drop the schema, or use another one', '@' USING ERRCODE = 'duplicate_table';
          END IF;
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

  /// One connection, which runs its statements in order on a separate queue, and blocks no thread of the pool.
  ///
  /// It connects when it is first used, and again after it broke. libpq never blocks: each wait for the server ends at
  /// a deadline, so a server that stopped answering is an error and not a hang.
  final class PostgresConnection: Sendable {
    private struct State {
      var socket: PostgresSocket?
      /// The names of the statements that this connection has prepared.
      var prepared: [String: String] = [:]
    }

    private let connectionString: String
    private let queue: DispatchQueue
    /// Only touched on the queue.
    private let state = Lock(State())

    init(_ connectionString: String, number: Int) {
      self.connectionString = connectionString
      queue = DispatchQueue(label: "stepwise.postgres.\(number)")
    }

    /// Runs a statement with bound parameters.
    ///
    /// - Throws: `PostgresError.Code.connection` when there is no connection, or when it broke: then the statement may
    ///   or may not have run.
    func run(
      _ sql: String,
      _ parameters: [PostgresValue],
      within limit: Duration
    ) async throws(PostgresError) -> [PostgresRow] {
      let result: Result<[PostgresRow], PostgresError> = await withCheckedContinuation { continuation in
        queue.async { [self] in
          let result = state.withLock { state in
            Result { () throws(PostgresError) in
              try Self.run(sql, parameters, on: &state, connectionString, deadline: .now + limit)
            }
          }
          continuation.resume(returning: result)
        }
      }
      return try result.get()
    }

    /// Closes the connection when its statements are over; the next one opens another.
    func close() { queue.async { [self] in state.withLock { $0 = State() } } }

    private static func run(
      _ sql: String,
      _ parameters: [PostgresValue],
      on state: inout State,
      _ connectionString: String,
      deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> [PostgresRow] {
      let socket: PostgresSocket
      if let open = state.socket {
        socket = open
      } else {
        socket = try PostgresSocket(connectionString, deadline: deadline)
        state = State(socket: socket)
      }
      do {
        let name: String
        if let prepared = state.prepared[sql] {
          name = prepared
        } else {
          name = "stepwise_\(state.prepared.count)"
          try socket.prepare(sql, as: name, parameters, deadline: deadline)
          state.prepared[sql] = name
        }
        return try socket.execute(name, parameters, deadline: deadline)
      } catch {
        // Nothing has run, and a new connection may lead to the right server.
        if error.isWrongServer || error.code == .connection { state = State() }
        throw error
      }
    }
  }

  /// A few connections that share the work; a statement uses the one with the fewest waiting statements.
  final class PostgresPool: Sendable {
    private struct Use {
      /// The number of statements that run or wait.
      var pending = 0
      /// When the last statement began; nil when the connection is closed.
      var began: ContinuousClock.Instant?
    }

    private let connections: [PostgresConnection]
    private let uses: Lock<[Use]>

    init(_ connectionString: String, size: Int) {
      let size = max(1, size)
      connections = (0..<size).map { PostgresConnection(connectionString, number: $0) }
      uses = Lock(Array(repeating: Use(), count: size))
    }

    /// Runs a statement; one that was interrupted is sent again, on a new connection, unless it is attempted once.
    ///
    /// Between the attempts it waits 50 ms, then twice as long each time: 1.5 s in all.
    @discardableResult
    func run(
      _ sql: String,
      _ parameters: [PostgresValue] = [],
      within limit: Duration = .seconds(35),
      attempts: Int = 6
    ) async throws -> [PostgresRow] {
      var (delay, rest) = (Duration.milliseconds(50), attempts)
      while true {
        do {
          return try await once(sql, parameters, within: limit)
        } catch {
          rest -= 1
          guard rest > 0, error.isTransient else { throw error }
        }
        try await Task.sleep(for: delay)
        delay *= 2
      }
    }

    /// Runs a statement on the connection that has the least to do; closes those that had nothing to do for 5 seconds.
    private func once(
      _ sql: String,
      _ parameters: [PostgresValue],
      within limit: Duration
    ) async throws(PostgresError) -> [PostgresRow] {
      let (index, idle) = uses.withLock { uses in
        let (index, now) = (uses.indices.min { uses[$0].pending < uses[$1].pending } ?? 0, ContinuousClock.now)
        uses[index].pending += 1
        uses[index].began = now
        let idle = uses.indices.filter { index in
          guard let began = uses[index].began else { return false }
          return uses[index].pending == 0 && began.duration(to: now) > .seconds(5)
        }
        for index in idle { uses[index].began = nil }
        return (index, idle)
      }
      for index in idle { connections[index].close() }
      defer { uses.withLock { $0[index].pending -= 1 } }
      return try await connections[index].run(sql, parameters, within: limit)
    }
  }
#endif
