// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// A stage as it is stored, without its type.
enum JSONTree: Decodable, Equatable {
  case null
  case bool(Bool)
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

  /// Where something of this tree is not in another one, which may have more; nil when all of it is.
  func loss(in other: JSONTree, path: [String] = []) -> (path: [String], reason: String)? {
    switch (self, other) {
    case (.object(let mine), .object(let others)):
      for (key, value) in mine.sorted(by: { $0.key < $1.key }) {
        guard let there = others[key] else { return (path + [key], "is gone") }
        if let loss = value.loss(in: there, path: path + [key]) { return loss }
      }
      return nil
    case (.list(let mine), .list(let others)) where mine.count == others.count:
      let losses = zip(mine, others).compactMap { $0.loss(in: $1, path: path + ["[]"]) }
      // A set has another order each time.
      let isShuffled = mine.allSatisfy { mine in others.contains { mine.loss(in: $0) == nil } }
      return isShuffled ? nil : losses.first
    default:
      return self == other ? nil : (path, "was \(summary) and is read as \(other.summary)")
    }
  }

  private var summary: String {
    switch self {
    case .null: "null"
    case .bool(let bool): "\(bool)"
    case .number(let number): Int(exactly: number).map { "\($0)" } ?? "\(number)"
    case .text(let text): "\"\(text.prefix(40))\""
    case .list(let list): "a list of \(list.count)"
    case .object(let object): "an object with \(object.keys.sorted().prefix(5).joined(separator: ", "))"
    }
  }
}
