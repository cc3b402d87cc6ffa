// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if Postgres
  import StepwiseCheckpoints

  /// A parameter, in PostgreSQL's binary format; nil is NULL.
  enum PostgresValue: Sendable, Hashable {
    case bytes([UInt8]?)
    case integer(Int64?)
    case real(Double)
    case text(String?)
    case texts([String?])
    case integers([Int64]?)
    case flags([Bool])
    case blobs([[UInt8]])

    /// The OID of the type, from PostgreSQL's catalogue `pg_type`.
    var type: UInt32 {
      switch self {
      case .bytes: 17
      case .integer: 20
      case .real: 701
      case .text: 25
      case .texts: 1009
      case .integers: 1016
      case .flags: 1000
      case .blobs: 1001
      }
    }

    /// The value in binary; nil for NULL.
    var encoded: [UInt8]? {
      switch self {
      case .bytes(let bytes): bytes
      case .integer(let number): number.map(\.bigEndianBytes)
      case .real(let number): number.bitPattern.bigEndianBytes
      case .text(let text): text.map { Array($0.utf8) }
      case .texts(let texts): Self.array(of: 25, texts.map { $0.map { Array($0.utf8) } })
      case .integers(let numbers): numbers.map { Self.array(of: 20, $0.map(\.bigEndianBytes)) }
      case .flags(let flags): Self.array(of: 16, flags.map { [$0 ? 1 : 0] })
      case .blobs(let blobs): Self.array(of: 17, blobs)
      }
    }

    /// An array of one dimension: its shape, then each element after its length.
    private static func array(of type: UInt32, _ elements: [[UInt8]?]) -> [UInt8] {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(20 + elements.reduce(0) { $0 + 4 + ($1?.count ?? 0) })
      func append(_ number: Int32) { bytes += number.bigEndianBytes }
      append(elements.isEmpty ? 0 : 1)
      append(elements.contains { $0 == nil } ? 1 : 0)
      append(Int32(bitPattern: type))
      guard !elements.isEmpty else { return bytes }
      append(Int32(elements.count))
      append(1)
      for element in elements {
        append(element.map { Int32($0.count) } ?? -1)
        if let element { bytes += element }
      }
      return bytes
    }

    /// The value in PostgreSQL's text format.
    var literal: String? {
      switch self {
      case .text(let text): text
      case .integer(let number): number.map { "\($0)" }
      case .real(let number): "\(number)"
      case .bytes(let bytes): bytes.map(Self.hexadecimal)
      case .texts(let texts): Self.list(texts.map { $0.map(Self.quoted) ?? "NULL" })
      case .integers(let numbers): numbers.map { Self.list($0.map(String.init)) }
      case .flags(let flags): Self.list(flags.map { $0 ? "t" : "f" })
      case .blobs(let blobs): Self.list(blobs.map { Self.quoted(Self.hexadecimal($0)) })
      }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
      "\\x" + bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    private static func list(_ elements: [String]) -> String { "{" + elements.joined(separator: ",") + "}" }

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

    /// A `bigint`.
    func integer(_ column: Int) -> Int64? { columns[column].map { Int64(bigEndianBytes: $0) } }

    /// A `boolean`.
    func isTrue(_ column: Int) -> Bool { columns[column]?.first == 1 }
  }
#endif
