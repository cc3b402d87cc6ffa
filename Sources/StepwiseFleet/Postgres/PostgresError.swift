// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// An error of PostgreSQL, or of the connection to it.
///
/// It contains neither the connection string nor any value.
public struct PostgresError: Error, Hashable, Sendable {
  /// What happened.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    enum Kind: String, Sendable { case connection, statement }
    let kind: Kind

    /// The server cannot be reached, or the connection failed and could not be restored.
    public static let connection = Code(kind: .connection)
    /// The server refused a statement.
    public static let statement = Code(kind: .statement)

    /// The name of the code.
    public var description: String { kind.rawValue }
  }

  /// What happened.
  public let code: Code
  /// The five characters of SQLSTATE, if the server sent them.
  public let sqlState: String?
  /// The server's primary message, or libpq's, in one line.
  public let message: String

  /// A Boolean value that indicates whether the same statement may succeed when it is sent again.
  ///
  /// 40001 and 40P01 are a transaction that lost against another one: nothing of it has happened.
  var isTransient: Bool { code == .connection || isWrongServer || ["40001", "40P01"].contains(sqlState) }

  /// A Boolean value that indicates whether another connection may lead to a server that runs the statement.
  var isWrongServer: Bool { isReadOnly || isPooled }

  /// A Boolean value that indicates whether the statement will be refused until an operator changes the database.
  ///
  /// Class 42 is a missing right, table, column or function; 3F000 a missing schema.
  var isPermanent: Bool { ["42", "3F"].contains(sqlState?.prefix(2)) && !isTransient }

  /// A Boolean value that indicates whether the server can never store a value of the statement.
  ///
  /// Class 22 is a value that no column of the type can have, such as a character that the encoding of the database lacks;
  /// class 54 one that exceeds a limit of the server.
  var isUnstorable: Bool { ["22", "54"].contains(sqlState?.prefix(2)) && !isTransient }

  /// 25006 is a server that is a standby.
  private var isReadOnly: Bool { sqlState == "25006" }

  /// Behind a pooler, the server process may not have the statement (26000), or may have it from another client (42P05).
  private var isPooled: Bool { ["26000", "42P05"].contains(sqlState) }

  /// A Boolean value that indicates whether the server's condition is the reason, and not the statement.
  ///
  /// Class 53 is a full disk, exhausted memory or too many connections; 57014 a statement that took too long or was
  /// cancelled; 55P03 a lock that another session holds.
  var isTemporary: Bool {
    isTransient || sqlState?.hasPrefix("53") == true || ["57014", "55P03"].contains(sqlState)
  }
}

extension PostgresError: CustomStringConvertible {
  /// The cause and, if there is one, the fix.
  public var description: String {
    let state = sqlState.map { " (SQLSTATE \($0))" } ?? ""
    let sentence = message.hasSuffix(".") ? message : message + "."
    if isReadOnly {
      return
        "The server is read-only\(state): \(sentence) Connect to the primary, or name all hosts in the connection string."
    }
    if isPooled {
      return
        "A pooler lost a prepared statement\(state): \(sentence) Use session mode, or PgBouncer 1.21 with max_prepared_statements above 0."
    }
    return switch code.kind {
    case .connection:
      "PostgreSQL cannot be reached\(state): \(sentence) Check the connection string and that the server runs."
    case .statement: "PostgreSQL refused a statement\(state): \(message)"
    }
  }
}
