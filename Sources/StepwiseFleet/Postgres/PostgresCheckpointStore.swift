// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise
  public import StepwiseCheckpoints

  /// Stores checkpoints in PostgreSQL, or a database that speaks its protocol, for processes on many machines.
  ///
  /// The database provides locks, fencing numbers and time: a lease ends by the server's clock, regardless of a
  /// worker's clock. Each save is one statement that compares the version, the fencing number and the lease: a worker
  /// that wakes late changes nothing.
  ///
  /// The tables are in a separate schema, which the first operation creates or migrates, even when many processes do so
  /// concurrently. An ordinary role can do that if it may create schemas in the database, or owns an empty schema of
  /// that name.
  ///
  /// A statement that a broken connection interrupted is sent again on a new one, for about 1.5 seconds; running it
  /// twice has the same effect. Statements wait for their connection on separate threads, and are not interrupted when
  /// their task is cancelled. A statement that the server does not answer within 35 seconds counts as interrupted.
  public final class PostgresCheckpointStore: CheckpointStore {
    private let database: PostgresDatabase
    private let leaseDuration: Duration

    /// Creates a store, which connects on first use.
    ///
    /// - Parameters:
    ///   - connectionString: The connection string of libpq: keywords and values, or a URI. libpq handles credentials
    ///     and TLS.
    ///   - schema: The schema that holds the tables.
    ///   - leaseDuration: How long an id stays held after the last renewal when its holder's process ends. At least a
    ///     second.
    ///   - maxConnections: The number of connections that statements share; one more renews leases.
    public init(
      _ connectionString: String,
      schema: String = "stepwise",
      leaseDuration: Duration = .seconds(30),
      maxConnections: Int = 4
    ) {
      database = PostgresDatabase(connectionString, schema: schema, maxConnections: maxConnections)
      self.leaseDuration = max(leaseDuration, .seconds(1))
    }

    /// Acquires the lease of an id.
    @concurrent public func acquire(_ id: String) async throws -> CheckpointLease {
      let key = try CheckpointID(id)
      // A restored database issues numbers of a sequence again: the random part tells such leases apart.
      // The holder's name lets a repeated attempt find the lease of the first one.
      let holder = PostgresValue.text("\(UInt64.random(in: 0 ... .max))")
      let rows = try await database.run(
        """
        INSERT INTO @.checkpoints AS c (id, fence, holder, lease_until)
        VALUES ($1, nextval('@.fences') * 1048576 + floor(random() * 1048576)::bigint, $2, clock_timestamp() + $3 * interval '1 second')
        ON CONFLICT (id) DO UPDATE
        SET fence = EXCLUDED.fence, holder = EXCLUDED.holder, lease_until = EXCLUDED.lease_until
        WHERE c.lease_until IS NULL OR c.lease_until < clock_timestamp() OR c.fence = $4 OR c.holder = $2
        RETURNING fence
        """,
        [.bytes(key.bytes), holder, seconds, releasedFence(of: key)]
      )
      guard let fence = rows.first?.integer(0) else {
        throw CheckpointError.held(id: id, location: location(of: id), processID: nil)
      }
      return CheckpointLease(id: id, fence: UInt64(bitPattern: fence), duration: leaseDuration)
    }

    /// Extends a lease by the server's clock.
    @concurrent public func renew(_ lease: CheckpointLease) async throws -> CheckpointLease {
      guard let key = lease.key else { throw lost(lease) }
      let rows = try await database.renew(
        """
        UPDATE @.checkpoints SET lease_until = clock_timestamp() + $3 * interval '1 second'
        WHERE id = $1 AND fence = $2 AND lease_until >= clock_timestamp() RETURNING fence
        """,
        [.bytes(key.bytes), fence(lease), seconds],
        within: leaseDuration / 3
      )
      guard !rows.isEmpty, !isReleased(lease, key) else { throw lost(lease) }
      return CheckpointLease(id: lease.id, fence: lease.fence, duration: leaseDuration)
    }

    /// Releases a lease.
    @concurrent public func release(_ lease: CheckpointLease) async throws {
      guard let key = lease.key else { throw lost(lease) }
      _ = try await database.run(
        """
        WITH dropped AS (
          DELETE FROM @.checkpoints WHERE id = $1 AND fence = $2 AND version IS NULL RETURNING id
        )
        UPDATE @.checkpoints SET lease_until = NULL WHERE id = $1 AND fence = $2 AND version IS NOT NULL
        """,
        [.bytes(key.bytes), fence(lease)]
      )
      released.withLock { if $0[place(of: key)] == lease.fence { $0[place(of: key)] = nil } }
    }

    /// Releases a lease; the database receives the release a little later.
    public func releaseWithoutWaiting(_ lease: CheckpointLease) {
      guard let key = lease.key else { return }
      released.withLock { $0[place(of: key)] = lease.fence }
      _ = spawn { [self] in try? await release(lease) }
    }

    /// Loads the last saved record.
    @concurrent public func load(_ id: String) async throws -> CheckpointRecord? {
      let key = try CheckpointID(id)
      let rows = try await database.run(
        """
        SELECT progression, schema_version, version, checksum, first, stage FROM @.checkpoints
        WHERE id = $1 AND version IS NOT NULL
        """,
        [.bytes(key.bytes)]
      )
      guard let row = rows.first else { return nil }
      guard let name = row.bytes(0), let progression = String(validating: name, as: UTF8.self),
        let schemaVersion = row.integer(1), let version = row.integer(2), let checksum = row.integer(3),
        let first = row.bytes(4), let stage = row.bytes(5)
      else {
        throw CheckpointError.damaged(id: id, location: location(of: id), reason: "a column is missing or not readable")
      }
      var record = CheckpointRecord(
        id: id,
        progression: progression,
        schemaVersion: Int(schemaVersion),
        version: UInt64(bitPattern: version),
        first: first,
        stage: stage
      )
      record.checksum = UInt64(bitPattern: checksum)
      return record
    }

    /// Replaces the record of an id, in one statement, if version, fencing number and lease are the expected ones.
    @concurrent public func save(
      _ record: CheckpointRecord,
      ifVersionIs version: UInt64?,
      under lease: CheckpointLease
    ) async throws {
      let key = try CheckpointID(record.id)
      guard lease.key == key, !isReleased(lease, key) else { throw lost(lease) }
      let saved = try await database.run(
        """
        UPDATE @.checkpoints
        SET progression = $3, schema_version = $4, version = $5, checksum = $6, first = $7, stage = $8, saved_at = now()
        WHERE id = $1 AND fence = $2 AND lease_until >= clock_timestamp() AND version IS NOT DISTINCT FROM $9::bigint
        RETURNING version
        """,
        [
          .bytes(key.bytes), fence(lease), .bytes(Array(record.progression.utf8)),
          .integer(Int64(record.schemaVersion)),
          .integer(Int64(bitPattern: record.version)), .integer(Int64(bitPattern: record.checksum)),
          .bytes(record.first),
          .bytes(record.stage), .integer(version.map { Int64(bitPattern: $0) }),
        ]
      )
      if saved.isEmpty { try await explain(record, key, expected: version, lease) }
    }

    /// Removes the record of an id.
    @concurrent public func remove(_ id: String) async throws {
      let key = try CheckpointID(id)
      let rows = try await database.run(
        """
        WITH gone AS (
          DELETE FROM @.checkpoints
          WHERE id = $1 AND (lease_until IS NULL OR lease_until < clock_timestamp() OR fence = $2) RETURNING id
        )
        SELECT EXISTS (SELECT FROM @.checkpoints WHERE id = $1) AND NOT EXISTS (SELECT FROM gone)
        """,
        [.bytes(key.bytes), releasedFence(of: key)]
      )
      guard rows.first?.isTrue(0) != true else {
        throw CheckpointError.held(id: id, location: location(of: id), processID: nil)
      }
    }

    /// Lists the ids that have a record.
    @concurrent public func list(after last: String?, limit: Int) async throws -> CheckpointPage {
      let limit = max(1, limit)
      let rows = try await database.run(
        """
        SELECT id FROM @.checkpoints WHERE version IS NOT NULL AND ($1::bytea IS NULL OR id > $1) ORDER BY id LIMIT $2
        """,
        [.bytes(last.map { Array($0.utf8) }), .integer(Int64(limit) + 1)]
      )
      let ids = rows.compactMap { row in row.bytes(0).map { String(decoding: $0, as: UTF8.self) } }
      return CheckpointPage(ids: Array(ids.prefix(limit)), hasMore: ids.count > limit)
    }

    /// The table, and the schema that it is in.
    public func location(of id: String) -> String { "table \(database.schema.quoted).checkpoints" }
  }

  extension PostgresCheckpointStore {
    private var seconds: PostgresValue { .real(leaseDuration / .seconds(1)) }

    private func fence(_ lease: CheckpointLease) -> PostgresValue { .integer(Int64(bitPattern: lease.fence)) }

    private func releasedFence(of key: CheckpointID) -> PostgresValue {
      .integer(released.withLock { $0[place(of: key)] }.map { Int64(bitPattern: $0) } ?? -1)
    }

    private func isReleased(_ lease: CheckpointLease, _ key: CheckpointID) -> Bool {
      released.withLock { $0[place(of: key)] } == lease.fence
    }

    private func place(of key: CheckpointID) -> Place {
      Place(connectionString: database.connectionString, schema: database.schema.name, id: key)
    }

    private func lost(_ lease: CheckpointLease) -> CheckpointError {
      .lostLease(id: lease.id, location: location(of: lease.id))
    }

    /// Throws the reason why a save changed nothing; a repeated save that had succeeded is not an error.
    private func explain(
      _ record: CheckpointRecord,
      _ key: CheckpointID,
      expected: UInt64?,
      _ lease: CheckpointLease
    ) async throws {
      let rows = try await database.run(
        "SELECT fence = $2 AND lease_until >= clock_timestamp(), version, checksum FROM @.checkpoints WHERE id = $1",
        [.bytes(key.bytes), fence(lease)]
      )
      guard let row = rows.first, row.isTrue(0) else { throw lost(lease) }
      let found = row.integer(1).map { UInt64(bitPattern: $0) }
      if found == record.version, row.integer(2) == Int64(bitPattern: record.checksum) { return }
      throw CheckpointError.conflict(id: record.id, location: location(of: record.id), expected: expected, found: found)
    }
  }

  /// An id in a schema of a server.
  private struct Place: Hashable, Sendable {
    let connectionString: String
    let schema: String
    let id: CheckpointID
  }

  /// The fencing numbers of leases that this process released without waiting, until the database has received the
  /// release: any store of the process may acquire the id.
  private let released = Lock<[Place: UInt64]>([:])
#endif
