// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
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
    private static let attempts = 6

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

    /// Runs a statement once, on the connection that has the least to do; closes those that had nothing to do for 5 seconds.
    func once(
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
