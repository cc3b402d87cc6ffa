// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import CLibpq
  import Dispatch
  import Stepwise
  import StepwiseCheckpoints

  #if canImport(FoundationEssentials)
    import FoundationEssentials
  #else
    import Foundation
  #endif

  #if canImport(Darwin)
    import Darwin
  #elseif canImport(Glibc)
    import Glibc
  #elseif canImport(Musl)
    import Musl
  #endif

  /// An open connection of libpq in non-blocking mode; the thread that uses it waits in `poll`, up to a deadline.
  ///
  /// It is used by one thread at a time.
  // Safety: the pointer never changes, and the owner passes the object from thread to thread under a lock.
  final class PostgresSocket: @unchecked Sendable {
    private let connection: OpaquePointer?

    /// Connects.
    init(_ connectionString: String, deadline: ContinuousClock.Instant) throws(PostgresError) {
      // What the connection string says has precedence, as it comes last.
      let settings = [
        ("fallback_application_name", "stepwise"), ("keepalives_idle", "10"), ("keepalives_interval", "5"),
        ("keepalives_count", "3"), ("tcp_user_timeout", "30000"), ("target_session_attrs", "read-write"),
        ("client_encoding", "UTF8"), ("dbname", connectionString),
      ]
      connection = Self.withCStrings(settings.map(\.0)) { keys in
        Self.withCStrings(settings.map(\.1)) { values in PQconnectStartParams(keys, values, 1) }
      }
      guard connection != nil, PQstatus(connection) != CONNECTION_BAD else { throw broken() }
      var state = PGRES_POLLING_WRITING
      while state != PGRES_POLLING_OK {
        guard state != PGRES_POLLING_FAILED else { throw broken() }
        try wait(for: Int32(state == PGRES_POLLING_READING ? POLLIN : POLLOUT), until: deadline)
        state = PQconnectPoll(connection)
      }
      guard PQsetnonblocking(connection, 1) == 0 else { throw broken() }
      // No setting of the session is changed: behind a pooler, other applications would get it.
      PQsetNoticeProcessor(connection, { _, _ in }, nil)
    }

    deinit { PQfinish(connection) }

    /// Prepares a statement under a name.
    func prepare(
      _ sql: String,
      as name: String,
      _ parameters: [PostgresValue],
      deadline: ContinuousClock.Instant
    ) throws(PostgresError) {
      let types = parameters.map { Oid($0.type) }
      guard PQsendPrepare(connection, name, sql, Int32(types.count), types) == 1 else { throw broken() }
      _ = try result(deadline: deadline)
    }

    /// Runs a statement without parameters, which is not prepared.
    @discardableResult
    func run(_ sql: String, deadline: ContinuousClock.Instant) throws(PostgresError) -> [PostgresRow] {
      guard PQsendQueryParams(connection, sql, 0, nil, nil, nil, nil, 1) == 1 else { throw broken() }
      return try result(deadline: deadline)
    }

    /// Runs a prepared statement.
    func execute(
      _ name: String,
      _ parameters: [PostgresValue],
      deadline: ContinuousClock.Instant
    ) throws(PostgresError) -> [PostgresRow] {
      var (bytes, starts, lengths) = ([UInt8](), [Int?](), [Int32]())
      for parameter in parameters {
        let start = bytes.count
        starts.append(parameter.write(to: &bytes) ? start : nil)
        lengths.append(Int32(bytes.count - start))
      }
      // For empty values: they are not NULL, so they need an address.
      bytes.append(0)
      let sent = bytes.withUnsafeBytes { buffer in
        let base = buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
        let values = starts.map { start -> UnsafePointer<CChar>? in start.flatMap { start in base.map { $0 + start } } }
        let formats = parameters.map { _ in Int32(1) }
        return PQsendQueryPrepared(connection, name, Int32(parameters.count), values, lengths, formats, 1)
      }
      guard sent == 1 else { throw broken() }
      return try result(deadline: deadline)
    }

    /// Waits for notifications until a deadline, and returns their payloads.
    func notifications(deadline: ContinuousClock.Instant) throws(PostgresError) -> [String] {
      var payloads = takeNotifications()
      if payloads.isEmpty, try isReady(for: Int32(POLLIN), until: deadline) {
        guard PQconsumeInput(connection) == 1 else { throw broken() }
        payloads = takeNotifications()
      }
      return payloads
    }

    private func takeNotifications() -> [String] {
      var payloads: [String] = []
      while let notification = PQnotifies(connection) {
        payloads.append(notification.pointee.extra.map { String(cString: $0) } ?? "")
        PQfreemem(notification)
      }
      return payloads
    }

    /// Sends what is buffered and waits for the whole answer.
    private func result(deadline: ContinuousClock.Instant) throws(PostgresError) -> [PostgresRow] {
      while true {
        let rest = PQflush(connection)
        guard rest >= 0 else { throw broken() }
        if rest == 0 { break }
        // The server may have to be read from before it reads on.
        try wait(for: Int32(POLLIN | POLLOUT), until: deadline)
        guard PQconsumeInput(connection) == 1 else { throw broken() }
      }
      var outcome: Result<[PostgresRow], PostgresError> = .success([])
      while true {
        while PQisBusy(connection) == 1 {
          try wait(for: Int32(POLLIN), until: deadline)
          guard PQconsumeInput(connection) == 1 else { throw broken() }
        }
        guard let result = PQgetResult(connection) else { break }
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK:
          if case .success = outcome { outcome = .success(Self.rows(of: result)) }
        default:
          outcome = .failure(refusal(result))
        }
      }
      guard PQstatus(connection) == CONNECTION_OK else { throw broken() }
      return try outcome.get()
    }

    private func wait(for events: Int32, until deadline: ContinuousClock.Instant) throws(PostgresError) {
      guard try isReady(for: events, until: deadline) else {
        cancel()
        throw PostgresError(code: .connection, sqlState: nil, message: "the server did not answer in time.")
      }
    }

    /// Has the server end a statement that is no longer waited for, so that it does not hold rows.
    private func cancel() {
      guard let request = PQgetCancel(connection).map({ UInt(bitPattern: $0) }) else { return }
      // It connects, and blocks its thread.
      DispatchQueue(label: "stepwise.postgres.cancel").async {
        let request = OpaquePointer(bitPattern: request)
        var message = [CChar](repeating: 0, count: 256)
        PQcancel(request, &message, 256)
        PQfreeCancel(request)
      }
    }

    private func isReady(for events: Int32, until deadline: ContinuousClock.Instant) throws(PostgresError) -> Bool {
      let descriptor = PQsocket(connection)
      guard descriptor >= 0 else { throw broken() }
      while true {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { return false }
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        let milliseconds = min(left / .milliseconds(1), 1_000_000).rounded(.up)
        let count = poll(&entry, 1, Int32(milliseconds))
        if count > 0 { return true }
        if count < 0, errno != EINTR { throw broken() }
      }
    }

    private func refusal(_ result: OpaquePointer) -> PostgresError {
      // The letters are those of PG_DIAG_SQLSTATE and PG_DIAG_MESSAGE_PRIMARY.
      let state = PQresultErrorField(result, 67).map { String(cString: $0) }
      let message = Self.firstLine(PQresultErrorField(result, 77) ?? PQerrorMessage(connection))
      // Class 57P is the server that shuts down: the connection is lost.
      let isLost = PQstatus(connection) != CONNECTION_OK || state?.hasPrefix("57P") == true
      return PostgresError(code: isLost ? .connection : .statement, sqlState: state, message: message)
    }

    private func broken() -> PostgresError {
      PostgresError(code: .connection, sqlState: nil, message: Self.firstLine(PQerrorMessage(connection)))
    }

    private static func rows(of result: OpaquePointer) -> [PostgresRow] {
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
      return text.split(separator: "\n").first.map(String.init) ?? "the connection was closed."
    }

    /// Calls a function with a NULL-terminated array of C strings.
    private static func withCStrings<Value>(
      _ strings: [String],
      _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Value
    ) -> Value {
      let copies = strings.map { strdup($0) }
      defer { copies.forEach { free($0) } }
      return (copies.map { UnsafePointer($0) } + [nil]).withUnsafeBufferPointer { body($0.baseAddress) }
    }
  }

  /// A parameter; nil is NULL.
  ///
  /// The numbers of types are those of PostgreSQL's catalogue `pg_type`.
  enum PostgresValue: Sendable, Hashable {
    case bytes([UInt8]?)
    case flag(Bool)
    case integer(Int64?)
    case real(Double)
    case text(String?)
    case array([PostgresValue]?, of: UInt32, as: UInt32)

    static func texts(_ texts: [String?]) -> Self { .array(texts.map { .text($0) }, of: 25, as: 1009) }
    static func integers(_ numbers: [Int64]?) -> Self { .array(numbers?.map { .integer($0) }, of: 20, as: 1016) }
    static func flags(_ flags: [Bool]) -> Self { .array(flags.map { .flag($0) }, of: 16, as: 1000) }
    static func blobs(_ blobs: [[UInt8]]) -> Self { .array(blobs.map { .bytes($0) }, of: 17, as: 1001) }

    var type: UInt32 {
      switch self {
      case .bytes: 17
      case .flag: 16
      case .integer: 20
      case .real: 701
      case .text: 25
      case .array(_, _, let type): type
      }
    }

    /// Writes the value in binary; returns false for NULL.
    func write(to bytes: inout [UInt8]) -> Bool {
      switch self {
      case .bytes(let value?): bytes += value
      case .flag(let flag): bytes.append(flag ? 1 : 0)
      case .integer(let number?): Self.append(number, to: &bytes)
      case .real(let number): Self.append(number.bitPattern, to: &bytes)
      case .text(let text?): bytes += text.utf8
      case .array(let elements?, let type, _):
        // The number of dimensions, that there may be NULL, and the first number of the dimension.
        for number in [elements.isEmpty ? 0 : 1, 1, type] { Self.append(number, to: &bytes) }
        guard !elements.isEmpty else { break }
        for number in [UInt32(elements.count), 1] { Self.append(number, to: &bytes) }
        for element in elements {
          let start = bytes.count
          // The length of NULL.
          Self.append(Int32(-1), to: &bytes)
          guard element.write(to: &bytes) else { continue }
          let length = UInt32(bytes.count - start - 4)
          for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: length >> (24 - 8 * index)) }
        }
      case .bytes(nil), .integer(nil), .text(nil), .array(nil, _, _): return false
      }
      return true
    }

    private static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
      withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
    }

    /// The value in PostgreSQL's text format; nil for NULL.
    var literal: String? {
      switch self {
      case .bytes(let bytes):
        bytes.map { "\\x" + $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
      case .flag(let flag): "\(flag)"
      case .integer(let number): number.map { "\($0)" }
      case .real(let number): "\(number)"
      case .text(let text): text
      case .array(let elements, _, _):
        elements.map { "{" + $0.map { $0.literal.map(Self.quoted) ?? "NULL" }.joined(separator: ",") + "}" }
      }
    }

    private static func quoted(_ text: String) -> String {
      "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
  }

  /// A row that a statement returned: columns in binary, nil for NULL.
  struct PostgresRow: Sendable, Hashable {
    let columns: [[UInt8]?]

    func bytes(_ column: Int) -> [UInt8]? { columns[column] }

    /// A `text`.
    func text(_ column: Int) -> String? { columns[column].map { String(decoding: $0, as: UTF8.self) } }

    /// A `double precision`.
    func real(_ column: Int) -> Double? {
      integer(column).map { Double(bitPattern: UInt64(bitPattern: $0)) }
    }

    /// A time that is stored as seconds since 1970; nil for one that is infinite.
    func date(_ column: Int) -> Date? {
      real(column).flatMap { $0.isFinite ? Date(timeIntervalSince1970: $0) : nil }
    }

    /// A `bigint`.
    func integer(_ column: Int) -> Int64? { columns[column].map { Int64(bigEndianBytes: $0) } }

    /// A `boolean`.
    func isTrue(_ column: Int) -> Bool { columns[column]?.first == 1 }
  }
#endif
