// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import Stepwise

  /// A few connections that share the work; a statement uses the one with the fewest waiting statements.
  final class PostgresPool: Sendable {
    private static let attempts = 6

    private let connections: [PostgresConnection]
    private let pending: Lock<[Int]>

    init(_ connectionString: String, size: Int) {
      let size = max(1, size)
      connections = (0..<size).map { PostgresConnection(connectionString, number: $0) }
      pending = Lock(Array(repeating: 0, count: size))
    }

    /// Runs a repeatable statement: one that was interrupted is sent again, on a new connection.
    ///
    /// Between the attempts it waits 50 ms, then twice as long each time: 1.5 s in all.
    @discardableResult
    func run(
      _ sql: String,
      _ parameters: [PostgresValue] = [],
      within limit: Duration = .seconds(35)
    ) async throws -> [PostgresRow] {
      var delay = Duration.milliseconds(50)
      for _ in 1..<Self.attempts {
        do {
          return try await once(sql, parameters, within: limit)
        } catch {
          guard error.isTransient else { throw error }
        }
        try await Task.sleep(for: delay)
        delay *= 2
      }
      return try await once(sql, parameters, within: limit)
    }

    /// Runs a statement once, on the connection that has the least to do.
    func once(
      _ sql: String,
      _ parameters: [PostgresValue],
      within limit: Duration
    ) async throws(PostgresError) -> [PostgresRow] {
      let index = pending.withLock { pending in
        let index = pending.indices.min { pending[$0] < pending[$1] } ?? 0
        pending[index] += 1
        return index
      }
      defer { pending.withLock { $0[index] -= 1 } }
      return try await connections[index].run(sql, parameters, within: limit)
    }
  }
#endif
