// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

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
        FleetTables.sweep(quoted),
        FleetTables.keys(quoted) + ";" + FleetTables.claim(quoted),
      ]
    }

    /// Runs the steps that have not run, once, however many workers request it concurrently.
    ///
    /// A transaction holds an advisory lock while it checks and changes the schema, so it is atomic.
    func migrate(_ pool: PostgresPool) async throws {
      try check()
      let existing = "SELECT to_regclass($1) IS NOT NULL"
      let table = PostgresValue.text("\(quoted).migrations")
      if try await pool.run(existing, [table]).first?.isTrue(0) == true {
        let count = try await pool.run("SELECT count(*) FROM \(quoted).migrations").first?.integer(0) ?? 0
        if count >= steps.count { return }
      }
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
          PERFORM pg_advisory_xact_lock(hashtext('stepwise:' || current_database()), hashtext(current_setting('stepwise.schema')));
          IF to_regnamespace(current_setting('stepwise.schema')) IS NULL THEN CREATE SCHEMA \(quoted); END IF;
          CREATE TABLE IF NOT EXISTS \(quoted).migrations (step bigint PRIMARY KEY, ran_at timestamptz NOT NULL);
        \(statements.joined(separator: "\n"))
        END
        """
      try await pool.run(
        "DO \(Self.dollarQuoted(script.replacing("current_setting('stepwise.schema')", with: literal)))"
      )
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
