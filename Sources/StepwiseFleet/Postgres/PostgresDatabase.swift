// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  import StepwiseCheckpoints
  import StepwiseFiles

  /// A schema of a database whose tables are brought up to date before the first statement.
  final class PostgresDatabase: Sendable {
    let connectionString: String
    let schema: PostgresSchema
    private let pool: PostgresPool
    /// The connection that renews leases, which waits for no other statement.
    private let renewals: PostgresPool
    private let migration = Lock<Task<Void, any Error>?>(nil)

    init(_ connectionString: String, schema: String, maxConnections: Int) {
      self.connectionString = connectionString
      self.schema = PostgresSchema(name: schema)
      pool = PostgresPool(connectionString, size: maxConnections)
      renewals = PostgresPool(connectionString, size: 1)
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

    /// Renews a lease, once, on a connection of its own.
    func renew(_ sql: String, _ parameters: [PostgresValue], within limit: Duration) async throws -> [PostgresRow] {
      try await renewals.run(schema.statement(sql), parameters, within: limit, attempts: 1)
    }

    /// Brings the tables up to date, and returns how many steps had run and how many have.
    func convert() async throws -> (before: Int, after: Int) {
      let before = try await schema.stepCount(pool)
      try await schema.prepareOnline(pool, after: before)
      try await migrate()
      return (before, try await schema.stepCount(pool))
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
    ///
    /// The last one creates the functions as well, or replaces them.
    static let steps: [String] = {
      var steps = [
        [FleetTables.tables, FleetTables.triggerFunctions, FleetTables.triggers],
        [FleetTables.changes],
        [FleetSignals.changes],
        [FleetTables.notes],
        [FleetTurns.changes],
        [OperatorTables.changes, OperatorTables.functions, OperatorTables.triggers],
        [FleetTables.children],
        [FleetTagTables.changes],
        [FleetTables.codecs],
      ]
      steps[steps.count - 1] += [
        OperatorTables.functions,
        FleetTables.triggerFunctions, FleetTables.functions, FleetTurns.functions, FleetClaim.functions,
        FleetSignals.function,
        StageSave.definition, EntrySave.definition, ParkedJob.definition, EndedAttempt.definition,
        ChildrenSave.definition,
      ]
      return steps.map { $0.joined(separator: "\n") }
    }()

    /// Runs the steps that have not run, once, however many workers request it concurrently.
    ///
    /// A transaction holds an advisory lock while it checks and changes the schema, so it is atomic.
    func migrate(_ pool: PostgresPool) async throws {
      try check()
      if try await stepCount(pool) < Self.steps.count { try await pool.run(script) }
    }

    /// The number of steps that have run.
    func stepCount(_ pool: PostgresPool) async throws -> Int {
      guard try await has("passed", pool) else { return 0 }
      return Int(try await pool.run(statement("SELECT count(*) FROM @.migrations")).first?.integer(0) ?? 0)
    }

    /// Builds the indexes of steps that have not run, while others read and write the tables.
    ///
    /// The steps themselves are a transaction, which would block writes until the index is built.
    func prepareOnline(_ pool: PostgresPool, after count: Int) async throws {
      guard (2..<Self.steps.count).contains(count) else { return }
      // The index of tags is in the order of turns, which the tables have from the fifth step on.
      for (index, statements) in [OperatorTables.online] + (count > 4 ? [FleetTagTables.online] : []) {
        // One that was cut off is not valid.
        let isBroken = "SELECT EXISTS (SELECT FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid)"
        if try await pool.run(isBroken, [.text("\(quoted).\(index)")]).first?.isTrue(0) == true {
          try await pool.run(statement("DROP INDEX CONCURRENTLY @.\(index)"))
        }
        for text in statements { try await pool.run(statement(text), within: .seconds(86_400)) }
      }
    }

    func has(_ table: String, _ pool: PostgresPool) async throws -> Bool {
      try await pool.run("SELECT to_regclass($1) IS NOT NULL", [.text("\(quoted).\(table)")]).first?.isTrue(0) == true
    }

    /// One statement that runs the steps that have not run.
    var script: String { script(of: Self.steps) }

    func script(of all: [String]) -> String {
      let steps = all.enumerated().map { index, step in
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

  /// A few connections, each of which runs one statement at a time, and blocks no thread of the cooperative pool.
  ///
  /// It connects when all connections are busy, up to a limit, and again after one broke. libpq never blocks: each wait for
  /// the server ends at a deadline, so a server that stopped answering is an error and not a hang.
  final class PostgresPool: Sendable {
    private struct Connection: Sendable {
      let socket: PostgresSocket
      /// The names of the statements that it has prepared.
      var prepared: [String: String] = [:]
      var lastUse = ContinuousClock.now
      /// Whether the server would run a statement at another level than read committed.
      ///
      /// At that one, each statement of a function sees what was committed before it. No setting of the session is changed,
      /// so transactions set theirs.
      let needsLevel: Bool

      init(_ connectionString: String, deadline: ContinuousClock.Instant) throws(PostgresError) {
        socket = try PostgresSocket(connectionString, deadline: deadline)
        let level = try socket.run("SELECT current_setting('default_transaction_isolation')", deadline: deadline)
        needsLevel = level.first?.text(0) != "read committed"
      }

      func execute(
        _ name: String,
        _ parameters: [PostgresValue],
        deadline: ContinuousClock.Instant
      ) throws(PostgresError) -> [PostgresRow] {
        guard needsLevel else { return try socket.execute(name, parameters, deadline: deadline) }
        try socket.run("BEGIN ISOLATION LEVEL READ COMMITTED", deadline: deadline)
        do {
          let rows = try socket.execute(name, parameters, deadline: deadline)
          try socket.run("COMMIT", deadline: deadline)
          return rows
        } catch {
          // Without an answer, the connection is closed, and the transaction with it.
          if error.code != .connection { try socket.run("ROLLBACK", deadline: deadline) }
          throw error
        }
      }
    }

    private let connectionString: String
    /// One for each connection.
    private let threads: IOThreads
    /// Those that run no statement; the next one uses the last.
    private let idle = Lock<[Connection]>([])

    init(_ connectionString: String, size: Int) {
      self.connectionString = connectionString
      threads = IOThreads(limit: max(1, size), patience: 1_000_000_000)
    }

    /// Runs a statement with bound parameters; one that was interrupted is sent again, on a new connection, unless it is
    /// attempted once.
    ///
    /// Between the attempts it waits 50 ms, then twice as long each time: 1.5 s in all.
    ///
    /// - Throws: `PostgresError.Code.connection` when there is no connection, or when it broke: then the statement may
    ///   or may not have run.
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
          return try await threads.run { [self] in try once(sql, parameters, within: limit) }
        } catch let error as PostgresError where error.isTransient && rest > 1 {
          rest -= 1
        }
        try await Task.sleep(for: delay)
        delay *= 2
      }
    }

    /// Runs a statement on the connection that was used last; closes those that had nothing to do for 5 seconds.
    private func once(
      _ sql: String,
      _ parameters: [PostgresValue],
      within limit: Duration
    ) throws(PostgresError) -> [PostgresRow] {
      let (last, old) = idle.withLock { idle in
        let (last, now) = (idle.popLast(), ContinuousClock.now)
        let old = Array(idle.prefix { $0.lastUse.duration(to: now) > .seconds(5) })
        idle.removeFirst(old.count)
        return (last, old)
      }
      // Closing them may take a moment, in which others need the lock.
      withExtendedLifetime(old) {}
      let deadline = ContinuousClock.now + limit
      var connection =
        if let last { last } else {
          try Connection(connectionString, deadline: deadline)
        }
      do {
        let name = connection.prepared[sql] ?? Self.name(of: sql)
        if connection.prepared[sql] == nil {
          do {
            try connection.socket.prepare(sql, as: name, parameters, deadline: deadline)
          } catch let error where error.sqlState == "42P05" {
            // Behind a pooler, another client has prepared it: under this name, it is the same statement.
          }
          connection.prepared[sql] = name
        }
        let rows = try connection.execute(name, parameters, deadline: deadline)
        release(connection)
        return rows
      } catch {
        // Nothing has run, and a new connection may lead to the right server.
        if !error.isWrongServer, error.code != .connection { release(connection) }
        throw error
      }
    }

    /// The name of a prepared statement: a hash of its text, so that clients which share a connection of a pooler have the
    /// same name for the same statement, and for no other.
    static func name(of sql: String) -> String { "stepwise_\(SHA256.hex(Array(sql.utf8)).prefix(40))" }

    private func release(_ connection: Connection) {
      var connection = connection
      connection.lastUse = .now
      idle.withLock { $0.append(connection) }
    }
  }
#endif
