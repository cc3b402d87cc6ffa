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
  var isTransient: Bool { code == .connection || ["40001", "40P01"].contains(sqlState) }

  /// A Boolean value that indicates whether the server's condition is the reason, and not the statement.
  ///
  /// Class 53 is a full disk, exhausted memory or too many connections; 57014 a statement that took too long or was
  /// cancelled; 25006 a server that is a standby; 55P03 a lock that another session holds.
  var isTemporary: Bool {
    isTransient || sqlState?.hasPrefix("53") == true || ["57014", "25006", "55P03"].contains(sqlState)
  }
}

extension PostgresError: CustomStringConvertible {
  /// The cause and, if there is one, the fix.
  public var description: String {
    let state = sqlState.map { " (SQLSTATE \($0))" } ?? ""
    return switch code.kind {
    case .connection:
      "PostgreSQL cannot be reached\(state): \(message)\(message.hasSuffix(".") ? "" : ".") Check the connection string and that the server runs."
    case .statement: "PostgreSQL refused a statement\(state): \(message)"
    }
  }
}
