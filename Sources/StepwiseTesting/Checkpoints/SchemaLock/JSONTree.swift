// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

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
