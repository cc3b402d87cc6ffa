// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  /// A parameter or a column, in PostgreSQL's binary format.
  enum PostgresValue: Sendable, Hashable {
    case bytes([UInt8])
    case integer(Int64)
    case real(Double)
    case text(String)
    case null
    case nullInteger

    /// The OID of the type, from PostgreSQL's catalogue `pg_type`.
    var type: UInt32 {
      switch self {
      case .bytes, .null: 17
      case .integer, .nullInteger: 20
      case .real: 701
      case .text: 25
      }
    }

    /// The value in binary; nil for NULL.
    var encoded: [UInt8]? {
      switch self {
      case .bytes(let bytes): bytes
      case .integer(let number): Self.bigEndian(UInt64(bitPattern: number))
      case .real(let number): Self.bigEndian(number.bitPattern)
      case .text(let text): Array(text.utf8)
      case .null, .nullInteger: nil
      }
    }

    private static func bigEndian(_ number: UInt64) -> [UInt8] {
      withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }
  }

  /// A row that a statement returned: columns in binary, nil for NULL.
  struct PostgresRow: Sendable, Hashable {
    let columns: [[UInt8]?]

    func bytes(_ column: Int) -> [UInt8]? { columns[column] }

    /// A `bigint`.
    func integer(_ column: Int) -> Int64? {
      columns[column].map { bytes in Int64(bitPattern: bytes.reduce(0) { $0 << 8 | UInt64($1) }) }
    }

    /// A `boolean`.
    func isTrue(_ column: Int) -> Bool { columns[column]?.first == 1 }
  }
#endif
