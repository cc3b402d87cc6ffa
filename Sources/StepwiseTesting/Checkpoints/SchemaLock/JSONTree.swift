// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A stored stage, without its type.
enum JSONTree: Codable {
  case null
  case bool(Bool)
  case whole(Int128)
  case number(Double)
  case text(String)
  case list([JSONTree])
  case object([String: JSONTree])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let bool = try? container.decode(Bool.self) {
      self = .bool(bool)
    } else if let number = try? container.decode(Int64.self) {
      self = .whole(Int128(number))
    } else if let number = try? container.decode(Int128.self) {
      self = .whole(number)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let list = try? container.decode([JSONTree].self) {
      self = .list(list)
    } else {
      self = .object(try container.decode([String: JSONTree].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let bool): try container.encode(bool)
    case .whole(let number):
      // Not every system's encoder supports the large type.
      if let number = Int64(exactly: number) { try container.encode(number) } else { try container.encode(number) }
    case .number(let number): try container.encode(number)
    case .text(let text): try container.encode(text)
    case .list(let list): try container.encode(list)
    case .object(let object): try container.encode(object)
    }
  }

  /// Returns what this tree has and another one lacks, which may have more; nil when nothing is missing.
  func loss(in other: JSONTree, path: [String] = []) -> (path: [String], reason: String)? {
    let loss = (path, "was \(summary) and is read as \(other.summary)")
    switch (self, other) {
    case (.object(let mine), .object(let others)):
      for (key, value) in mine.sorted(by: { $0.key < $1.key }) {
        guard let there = others[key] else { return (path + [key], "is gone") }
        if let loss = value.loss(in: there, path: path + [key]) { return loss }
      }
      return nil
    case (.list(let mine), .list(let others)) where mine.count == others.count:
      let losses = zip(mine, others).compactMap { $0.loss(in: $1, path: path + ["[]"]) }
      // A set is stored in a different order each time.
      let isShuffled = mine.allSatisfy { mine in others.contains { mine.loss(in: $0) == nil } }
      return isShuffled ? nil : losses.first
    case (.null, .null): return nil
    case (.bool(let mine), .bool(let other)): return mine == other ? nil : loss
    case (.text(let mine), .text(let other)): return mine.utf8.elementsEqual(other.utf8) ? nil : loss
    case (.whole(let mine), .whole(let other)): return mine == other ? nil : loss
    case (.number(let mine), .number(let other)): return mine == other ? nil : loss
    // A large number is stored with an exponent by one type and without it by another.
    case (.whole(let whole), .number(let number)), (.number(let number), .whole(let whole)):
      return Int128(exactly: number) == whole ? nil : loss
    default: return loss
    }
  }

  private var summary: String {
    switch self {
    case .null: "null"
    case .bool(let bool): "\(bool)"
    case .whole(let number): "\(number)"
    case .number(let number): "\(number)"
    case .text(let text): "\"\(text.prefix(40))\""
    case .list(let list): "a list of \(list.count)"
    case .object(let object): "an object with \(object.keys.sorted().prefix(5).joined(separator: ", "))"
    }
  }
}

extension JSONTree {
  /// How to remove a value.
  enum Removal {
    case absent
    case null
  }

  /// Returns the tree without the values under a path such as `labels.inner`, `list[]` or `dictionary.*`; nil when it
  /// has none.
  func removing(_ path: Substring, _ removal: Removal) -> JSONTree? {
    switch self {
    case .object(var object):
      var isChanged = false
      for (key, value) in object.sorted(by: { $0.key < $1.key }) {
        // A key may contain dots, and a star matches each key.
        for name in [key, "*"] where path.hasPrefix(name) {
          let rest = path.dropFirst(name.count)
          if rest.isEmpty {
            object[key] = removal == .null ? JSONTree.null : nil
            isChanged = true
          } else if let start = Self.below(rest), let changed = value.removing(start, removal) {
            object[key] = changed
            isChanged = true
          }
        }
      }
      return isChanged ? .object(object) : nil
    case .list(let list):
      guard path.hasPrefix("[]") else { return nil }
      let rest = path.dropFirst(2)
      if rest.isEmpty { return list.isEmpty ? nil : .list(list.map { _ in .null }) }
      guard let start = Self.below(rest) else { return nil }
      let changed = list.map { element in element.removing(start, removal) }
      return changed.contains { $0 != nil } ? .list(zip(changed, list).map { $0 ?? $1 }) : nil
    default:
      return nil
    }
  }

  /// The path below a name, whose elements are joined without a dot: `list[]`, `list[].label`, `list[][]`.
  private static func below(_ rest: Substring) -> Substring? {
    if rest.hasPrefix(".") { return rest.dropFirst() }
    return rest.hasPrefix("[]") ? rest : nil
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
