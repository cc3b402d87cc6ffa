// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// A statement that enqueues jobs in your transaction.
  ///
  /// The jobs exist when that transaction commits, and not when it rolls back.
  public struct FleetStatement: Sendable, Hashable {
    /// The SQL, in which `$1`, `$2` and so on stand for the parameters, each of which it casts from text.
    public let sql: String

    /// The parameters in PostgreSQL's text format, to be bound in this order; nil for NULL.
    public let parameters: [String?]
  }

  extension PostgresValue {
    /// The value in PostgreSQL's text format.
    var literal: String? {
      switch self {
      case .null, .nullInteger, .nullText: nil
      case .text(let text): text
      case .integer(let number): "\(number)"
      case .real(let number): "\(number)"
      case .bytes(let bytes): "\\x" + bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
      case .texts(let texts): Self.list(texts.map { $0.map(Self.quoted) ?? "NULL" })
      case .integers(let numbers): Self.list(numbers.map(String.init))
      case .flags(let flags): Self.list(flags.map { $0 ? "t" : "f" })
      }
    }

    private static func list(_ elements: [String]) -> String { "{" + elements.joined(separator: ",") + "}" }

    private static func quoted(_ text: String) -> String {
      "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
  }
#endif
