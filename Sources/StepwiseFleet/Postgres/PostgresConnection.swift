// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import CLibpq
  import Dispatch
  import Stepwise

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
#endif
