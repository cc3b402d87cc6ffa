// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import CLibpq
  import Dispatch
  import Stepwise

  /// One connection, which runs its statements one after the other on its own queue: libpq blocks that queue's thread
  /// and none of the cooperative pool.
  ///
  /// It connects on first use, and reconnects after a failure.
  final class PostgresConnection: Sendable {
    private let connectionString: String
    private let queue: DispatchQueue
    /// Only accessed on the queue.
    private let connection = Lock<OpaquePointer?>(nil)

    init(_ connectionString: String, number: Int) {
      self.connectionString = connectionString
      queue = DispatchQueue(label: "stepwise.postgres.\(number)")
    }

    deinit {
      connection.withLock { connection in PQfinish(connection) }
    }

    /// Runs a statement with bound parameters.
    ///
    /// - Throws: `PostgresError.Code.connection` when there is no connection, or when it failed; in the second case the
    ///   statement may or may not have run.
    func run(_ sql: String, _ parameters: [PostgresValue]) async throws(PostgresError) -> [PostgresRow] {
      let result: Result<[PostgresRow], PostgresError> = await withCheckedContinuation { continuation in
        queue.async { [self] in
          let result = connection.withLock { connection in
            Result { () throws(PostgresError) in try Self.run(sql, parameters, on: &connection, connectionString) }
          }
          continuation.resume(returning: result)
        }
      }
      return try result.get()
    }

    private static func run(
      _ sql: String,
      _ parameters: [PostgresValue],
      on connection: inout OpaquePointer?,
      _ connectionString: String
    ) throws(PostgresError) -> [PostgresRow] {
      if connection == nil { connection = try connect(connectionString) }
      do {
        return try execute(sql, parameters, on: connection)
      } catch {
        if PQstatus(connection) != CONNECTION_OK {
          PQfinish(connection)
          connection = nil
          throw PostgresError(code: .connection, sqlState: error.sqlState, message: error.message)
        }
        throw error
      }
    }

    private static func connect(_ connectionString: String) throws(PostgresError) -> OpaquePointer? {
      let connection = PQconnectdb(connectionString)
      guard PQstatus(connection) == CONNECTION_OK else {
        defer { PQfinish(connection) }
        throw PostgresError(code: .connection, sqlState: nil, message: firstLine(PQerrorMessage(connection)))
      }
      // A statement that hangs, or a transaction that stays open, must not lock rows for ever.
      let settings =
        "SET statement_timeout = '30s'; SET idle_in_transaction_session_timeout = '60s'; SET client_min_messages = error"
      PQclear(PQexec(connection, settings))
      return connection
    }

    private static func execute(
      _ sql: String,
      _ parameters: [PostgresValue],
      on connection: OpaquePointer?
    ) throws(PostgresError) -> [PostgresRow] {
      let encoded = parameters.map(\.encoded)
      // The last byte is for empty values: they are not NULL, so they need an address.
      let bytes: [UInt8] = encoded.compactMap { $0 }.flatMap { $0 } + [0]
      let result = bytes.withUnsafeBytes { buffer -> OpaquePointer? in
        let base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
        var offset = 0
        var values: [UnsafePointer<CChar>?] = []
        for value in encoded {
          values.append(value == nil ? nil : base.map { $0 + offset })
          offset += value?.count ?? 0
        }
        return PQexecParams(
          connection,
          sql,
          Int32(parameters.count),
          parameters.map { Oid($0.type) },
          values,
          encoded.map { Int32($0?.count ?? 0) },
          parameters.map { _ in 1 },
          1
        )
      }
      defer { PQclear(result) }
      switch PQresultStatus(result) {
      case PGRES_COMMAND_OK: return []
      case PGRES_TUPLES_OK: return rows(of: result)
      default:
        let state = PQresultErrorField(result, 67).map { String(cString: $0) }
        let message = PQresultErrorField(result, 77) ?? PQerrorMessage(connection)
        throw PostgresError(code: .statement, sqlState: state, message: firstLine(message))
      }
    }

    private static func rows(of result: OpaquePointer?) -> [PostgresRow] {
      (0..<PQntuples(result)).map { row in
        PostgresRow(
          columns: (0..<PQnfields(result)).map { column in
            guard PQgetisnull(result, row, column) == 0 else { return nil }
            let length = Int(PQgetlength(result, row, column))
            guard length > 0, let value = PQgetvalue(result, row, column) else { return [] }
            return Array(UnsafeRawBufferPointer(start: value, count: length))
          }
        )
      }
    }

    private static func firstLine(_ text: UnsafeMutablePointer<CChar>?) -> String {
      let text = text.map { String(cString: $0) } ?? ""
      return text.split(separator: "\n").first.map(String.init) ?? "no message"
    }
  }
#endif
