// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// What is stored under a path: types, and whether the value may be null or absent.
///
/// As text it is `Int`, `Int|nil` or `Int?`.
struct ValueType: Equatable {
  /// The types; none when no sample has a value.
  var kinds: Set<String>
  var mayBeNull: Bool
  var mayBeAbsent: Bool

  init(kinds: Set<String>, mayBeNull: Bool = false, mayBeAbsent: Bool = false) {
    (self.kinds, self.mayBeNull, self.mayBeAbsent) = (kinds, mayBeNull, mayBeAbsent)
  }

  init(_ text: String) {
    mayBeAbsent = text.hasSuffix("?")
    let names = text.split(separator: "|").map { String($0.hasSuffix("?") ? $0.dropLast() : $0) }
    mayBeNull = names.contains("nil")
    kinds = Set(names).subtracting(["nil", ""])
  }

  var text: String {
    (kinds.sorted() + (mayBeNull ? ["nil"] : [])).joined(separator: "|") + (mayBeAbsent ? "?" : "")
  }

  /// Adds what is stored now.
  ///
  /// Earlier forms remain: values may still be null or absent.
  func adding(_ new: ValueType) -> ValueType {
    ValueType(
      kinds: new.kinds.isEmpty ? kinds : new.kinds,
      mayBeNull: mayBeNull || new.mayBeNull,
      mayBeAbsent: mayBeAbsent || new.mayBeAbsent
    )
  }

  /// Adds what another sample has.
  mutating func form(union other: ValueType) {
    kinds.formUnion(other.kinds)
    mayBeNull = mayBeNull || other.mayBeNull
    mayBeAbsent = mayBeAbsent || other.mayBeAbsent
  }

  /// Returns whether values of this type are lost or changed when they are decoded as another type.
  ///
  /// `isText` says that `String` stands for every type that is stored as a text, as in a file of an earlier version.
  func losesValues(as other: ValueType, isText: Bool) -> Bool {
    guard kinds.count == 1, let kind = kinds.first else { return false }
    return other.kinds.contains { other in
      if let number = NumberType(kind), let other = NumberType(other), number.losesValues(as: other) { return true }
      if isText || kind == other { return false }
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
private enum NumberType {
  case integer(isSigned: Bool, bits: Int)
  /// Integers up to two to the power of the bits are exact.
  case binary(bits: Int)
  /// Integers of up to 128 bits are exact.
  case decimal

  init?(_ name: String) {
    switch name {
    case "Float": self = .binary(bits: 24)
    // A date is stored as a number of seconds.
    case "Double", "Date": self = .binary(bits: 53)
    case "Decimal": self = .decimal
    case "Int": self = .integer(isSigned: true, bits: 64)
    case "UInt": self = .integer(isSigned: false, bits: 64)
    default:
      let isSigned = name.hasPrefix("Int")
      guard isSigned || name.hasPrefix("UInt"), let bits = Int(name.dropFirst(isSigned ? 3 : 4)) else { return nil }
      self = .integer(isSigned: isSigned, bits: bits)
    }
  }

  func losesValues(as other: NumberType) -> Bool {
    switch (self, other) {
    case (.integer(let isSigned, let bits), .integer(let otherIsSigned, let otherBits)):
      isSigned == otherIsSigned ? otherBits < bits : isSigned || otherBits <= bits
    case (.integer(let isSigned, let bits), .binary(let exact)):
      (isSigned ? bits - 1 : bits) > exact
    case (.integer, .decimal), (.decimal, .decimal):
      false
    case (.binary(let bits), .binary(let otherBits)):
      otherBits < bits
    // Infinity and NaN are stored as words, which only binary types decode.
    case (.binary, .integer), (.binary, .decimal), (.decimal, .integer), (.decimal, .binary):
      true
    }
  }
}
