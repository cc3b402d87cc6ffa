// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

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

/// The values of a decoded sample, by their paths in Swift, such as `read.size` and `kinds[0]`.
///
/// A lock stores them beside the sample, because the same bytes can be decoded as other values after an edit: when two
/// raw values or keys of one type are swapped, or when a date is counted from another year. The name of a case begins
/// with a dot. The raw values that a `CaseIterable` enum declares are values below its path.
struct SchemaReading {
  private(set) var values: [String: String] = [:]
  /// The cases that occur at a path or are declared there.
  private(set) var cases: [String: Set<String>] = [:]

  init(of stage: Any) { add(stage, at: "") }

  /// Returns how the values differ from those that the same bytes were decoded as earlier; nil if they do not.
  ///
  /// A path of the earlier values that no longer exists belongs to a renamed property or case. So does the name of a
  /// case that is not among the cases that exist now.
  func change(from earlier: [String: String], cases: [String: Set<String>]) -> String? {
    for (path, text) in earlier.sorted(by: { $0.key < $1.key }) {
      // Where an enum replaces another type or the other way round, the types are compared.
      guard let now = values[path], now != text, now.hasPrefix(".") == text.hasPrefix(".") else { continue }
      if text.hasPrefix("."), cases[path]?.contains(text) != true { continue }
      return "\(path.isEmpty ? "it" : path) was \(text) and is read as \(now)"
    }
    return nil
  }

  private mutating func add(_ value: Any, at path: String) {
    if let text = Self.text(of: value) {
      values[path] = text
      return
    }
    var mirror: Mirror? = Mirror(reflecting: value)
    switch mirror?.displayStyle {
    case .enum:
      let name = mirror?.children.first?.label ?? "\(value)"
      values[path] = "." + name
      cases[path, default: []].insert("." + name)
      if let type = type(of: value) as? any (CaseIterable & RawRepresentable).Type { declare(type, at: path) }
      for child in mirror?.children ?? AnyCollection([]) { add(child.value, at: Self.joined(path, name)) }
    case .optional:
      for child in mirror?.children ?? AnyCollection([]) { add(child.value, at: path) }
    case .set:
      break
    case .dictionary:
      for (key, element) in value as? [AnyHashable: Any] ?? [:] {
        if let key = Self.text(of: key.base) { add(element, at: "\(path)[\(key)]") }
      }
    default:
      while let part = mirror {
        for (index, child) in part.children.enumerated() {
          add(child.value, at: child.label.map { Self.joined(path, $0) } ?? "\(path)[\(index)]")
        }
        mirror = part.superclassMirror
      }
    }
  }

  private mutating func declare<Enum: CaseIterable & RawRepresentable>(_ type: Enum.Type, at path: String) {
    for element in Enum.allCases {
      let name = Mirror(reflecting: element).children.first?.label ?? "\(element)"
      values[Self.joined(path, name)] = Self.text(of: element.rawValue)
      cases[path, default: []].insert("." + name)
    }
  }

  /// The text of a value that is stored as one; a date is a number, and a whole number looks the same in each type.
  private static func text(of value: Any) -> String? {
    switch value {
    case let value as String: "\"\(value)\""
    case let value as Bool: "\(value)"
    case let value as any BinaryInteger: "\(value)"
    case let value as any BinaryFloatingPoint: text(of: Double(value))
    case let value as Date: text(of: value.timeIntervalSinceReferenceDate)
    case let value as Decimal: "\(value)"
    case let value as URL: "\"\(value.absoluteString)\""
    case let value as UUID: "\"\(value.uuidString)\""
    case let value as Data: "\"\(value.base64EncodedString())\""
    default: nil
    }
  }

  private static func text(of number: Double) -> String {
    let text = "\(number)"
    return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  private static func joined(_ path: String, _ name: String) -> String {
    let name = name.hasPrefix(".") ? "_" + name.dropFirst() : name
    return path.isEmpty ? name : "\(path).\(name)"
  }
}
