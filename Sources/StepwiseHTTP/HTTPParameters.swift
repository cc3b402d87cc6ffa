// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// Names and values, in order, for the query of a URL or for a form.
///
/// A name may occur more than once. Everything but letters, digits and `-._~` is encoded.
public struct HTTPParameters: Sendable, Hashable {
  /// One name and its value.
  public struct Item: Sendable, Hashable {
    /// The name, not encoded.
    public let name: String
    /// The value, not encoded.
    public let value: String
  }

  /// The items, in order.
  public private(set) var items: [Item] = []

  /// Creates a list without items.
  public init() {}

  /// Creates a list of the items of a dictionary, in the order of their names.
  public init(_ dictionary: [String: String]) {
    for (name, value) in dictionary.sorted(by: { $0.key < $1.key }) { add(name, value) }
  }

  /// Adds an item and keeps those of the same name.
  public mutating func add(_ name: String, _ value: String) {
    items.append(Item(name: name, value: value))
  }

  private static let plain = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
  )

  /// The part of a URL after the question mark.
  var query: String { encoded(space: "%20") }

  /// A body of the type `application/x-www-form-urlencoded`.
  var form: Data { Data(encoded(space: "+").utf8) }

  private func encoded(space: String) -> String {
    func encode(_ text: String) -> String {
      let encoded = text.addingPercentEncoding(withAllowedCharacters: Self.plain) ?? ""
      return space == "%20" ? encoded : encoded.replacingOccurrences(of: "%20", with: space)
    }
    return items.map { encode($0.name) + "=" + encode($0.value) }.joined(separator: "&")
  }
}

extension HTTPParameters: ExpressibleByDictionaryLiteral {
  /// Creates a list of the items of a literal, in its order; a name may occur more than once.
  public init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { add(name, value) }
  }
}

extension HTTPParameters.Item: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The name without the value, which may be a password.
  public var description: String { "\(name)=(hidden)" }

  /// The name without the value, which may be a password.
  public var debugDescription: String { description }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
