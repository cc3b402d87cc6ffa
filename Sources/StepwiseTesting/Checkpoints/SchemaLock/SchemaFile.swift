// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The content of a lock's file.
struct SchemaFile: Codable, Equatable {
  /// A stored case.
  struct Case: Codable, Equatable {
    /// The types of the values, by their paths below the case: `labels.inner`, `list[]`, `dictionary.*`.
    var types: [String: ValueType] = [:]
    /// The samples in their stored form.
    var samples: [String] = []
    /// The values that each sample is decoded as, by the sample.
    ///
    /// See ``SchemaReading``.
    var readings: [String: [String: String]] = [:]
  }

  var progression: String
  /// The cases, by schema version and name.
  var versions: [String: [String: Case]]
}

/// What is stored under a path: types, and whether the value may be null or absent.
///
/// As text it is `Int`, `Int|nil` or `Int?`.
struct ValueType: RawRepresentable, Codable, Equatable {
  /// The types; none when no sample has a value.
  var kinds: Set<String> = []
  var mayBeNull = false
  var mayBeAbsent = false

  init() {}

  init(rawValue text: String) {
    mayBeAbsent = text.hasSuffix("?")
    let names = text.split(separator: "|").map { String($0.hasSuffix("?") ? $0.dropLast() : $0) }
    mayBeNull = names.contains("nil")
    kinds = Set(names).subtracting(["nil", ""])
  }

  var rawValue: String {
    (kinds.sorted() + (mayBeNull ? ["nil"] : [])).joined(separator: "|") + (mayBeAbsent ? "?" : "")
  }

  /// Adds what is stored now.
  ///
  /// Earlier forms remain: values may still be null or absent.
  mutating func add(_ new: ValueType) {
    if !new.kinds.isEmpty { kinds = new.kinds }
    mayBeNull = mayBeNull || new.mayBeNull
    mayBeAbsent = mayBeAbsent || new.mayBeAbsent
  }

  /// Returns whether values of this type are lost or changed when they are decoded as another type.
  func losesValues(as other: ValueType) -> Bool {
    guard kinds.count == 1, let kind = kinds.first else { return false }
    return other.kinds.contains { other in
      if let number = NumberType(kind), let other = NumberType(other), number.losesValues(as: other) { return true }
      if kind == other { return false }
      return switch (kind, other) {
      case ("String", _), ("Data", _), ("Array", "Set"): true
      case ("URL", _), ("UUID", _): other != "String"
      // Each number is a date, but another value.
      case (_, "Date"): true
      default: other.hasPrefix("enum of ") && !kind.hasPrefix("enum of ")
      }
    }
  }
}

/// A numeric type, as far as it determines which values can be decoded as which other types.
private struct NumberType {
  private enum Fractions {
    case none, binary, decimal
  }

  /// Integers from minus two to the power of `negativeBits` to two to the power of `bits` are exact.
  private var bits: Int
  private var negativeBits: Int
  private var fractions = Fractions.none

  init?(_ name: String) {
    switch name {
    case "Float": (bits, negativeBits, fractions) = (24, 24, .binary)
    // A date is stored as a number of seconds.
    case "Double", "Date": (bits, negativeBits, fractions) = (53, 53, .binary)
    case "Decimal": (bits, negativeBits, fractions) = (128, 128, .decimal)
    default:
      let isSigned = name.hasPrefix("Int")
      guard isSigned || name.hasPrefix("UInt") else { return nil }
      let width = name.dropFirst(isSigned ? 3 : 4)
      guard let bits = width.isEmpty ? 64 : Int(width) else { return nil }
      self.bits = isSigned ? bits - 1 : bits
      negativeBits = isSigned ? bits - 1 : 0
    }
  }

  func losesValues(as other: NumberType) -> Bool {
    // Infinity and NaN are stored as words, which only binary types decode.
    other.bits < bits || other.negativeBits < negativeBits || (fractions != .none && other.fractions != fractions)
  }
}
