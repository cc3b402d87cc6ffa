// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// A value that may hold secrets: only its description is shown, also by `dump` and `debugPrint`.
protocol HTTPConcealed: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {}

extension HTTPConcealed {
  /// The same as `description`.
  public var debugDescription: String { description }

  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// Header fields, in order; names are compared case-insensitively.
///
/// You can write them as a dictionary literal. Values of fields that hold secrets, such as `Authorization` and
/// `Cookie`, are not shown in its descriptions.
public struct HTTPHeaders: Sendable, Hashable, ExpressibleByDictionaryLiteral, CustomStringConvertible {
  /// One header field.
  public struct Field: Sendable, Hashable, HTTPConcealed {
    /// The name, as it was received.
    public let name: String
    /// The value, without surrounding space.
    public let value: String

    fileprivate init(_ name: String, _ value: String) {
      self.name = name
      func isSpace(_ byte: UInt8?) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
      // Most values need no trimming, which took a tenth of the time of a small request.
      let isTrimmed = !isSpace(value.utf8.first) && !isSpace(value.utf8.last)
      self.value = isTrimmed ? value : value.trimmingCharacters(in: CharacterSet(charactersIn: " \t"))
    }

    /// Compares the names, which are ASCII, without the copies that `lowercased()` makes.
    func isNamed(_ other: String) -> Bool {
      func lowercased(_ byte: UInt8) -> UInt8 { (65...90).contains(byte) ? byte | 0x20 : byte }
      return name.utf8.count == other.utf8.count
        && zip(name.utf8, other.utf8).allSatisfy { lowercased($0) == lowercased($1) }
    }

    private static let secrets: Set<String> = [
      "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token",
    ]

    /// The name and the value, unless the value is secret.
    public var description: String { "\(name): \(Self.secrets.contains(name.lowercased()) ? "(hidden)" : value)" }
  }

  /// The fields, in order.
  public private(set) var fields: [Field] = []

  /// Creates a list without fields.
  public init() {}

  /// Creates a list of the fields of a dictionary, in the order of their names.
  public init(_ dictionary: [String: String]) {
    for (name, value) in dictionary.sorted(by: { $0.key < $1.key }) { add(name, value) }
  }

  /// The values of a name, joined by commas; setting it replaces all of them, nil removes them.
  public subscript(name: String) -> String? {
    get {
      let values = values(name)
      return values.isEmpty ? nil : values.joined(separator: ", ")
    }
    set {
      let index = fields.firstIndex { $0.isNamed(name) }
      fields.removeAll { $0.isNamed(name) }
      if let newValue { fields.insert(Field(name, newValue), at: index ?? fields.count) }
    }
  }

  /// Each value of a name, in order.
  public func values(_ name: String) -> [String] { fields.filter { $0.isNamed(name) }.map(\.value) }

  /// Adds a field and keeps those of the same name.
  public mutating func add(_ name: String, _ value: String) { fields.append(Field(name, value)) }

  /// Adds a line that continues the value of the last field, which RFC 9112 calls folding.
  mutating func fold(_ text: String) { if let last = fields.popLast() { add(last.name, last.value + " " + text) } }

  /// Returns these fields, with those of another list in place of the ones with the same names.
  public func merging(_ other: HTTPHeaders) -> HTTPHeaders {
    if fields.isEmpty { return other }
    if other.fields.isEmpty { return self }
    var merged = self
    merged.fields.removeAll { field in other.fields.contains { $0.isNamed(field.name) } }
    merged.fields += other.fields
    return merged
  }

  mutating func keepOnly(_ isKept: (_ lowercasedName: String) -> Bool) {
    fields.removeAll { !isKept($0.name.lowercased()) }
  }

  /// Creates a list of the fields of a literal, in its order; a name may occur more than once.
  public init(dictionaryLiteral elements: (String, String)...) { for (name, value) in elements { add(name, value) } }

  /// The fields, one after the other, without the values of secret ones.
  public var description: String { "[\(fields.map(\.description).joined(separator: "; "))]" }
}

/// The part of a response before its body.
///
/// Your transport returns it before the body arrives.
public struct HTTPResponseHead: Sendable, CustomStringConvertible {
  /// The status, such as 200 or 404.
  public let status: Int

  /// The header fields, one per line where the transport can distinguish them.
  public let headers: HTTPHeaders

  /// Creates a head.
  public init(status: Int, headers: HTTPHeaders = [:]) {
    self.status = status
    self.headers = headers
  }

  /// The length of the body, if it is known; it is unknown when the transport decompresses the body.
  var length: Int64? {
    guard headers["Content-Encoding"].map({ $0.lowercased() == "identity" }) ?? true else { return nil }
    return headers["Content-Length"].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
  }

  /// The status.
  public var description: String { "HTTPResponseHead(\(status))" }
}

/// Names and values, in order, for the query of a URL or for a form.
///
/// You can write them as a dictionary literal. A name may occur more than once. Everything but letters, digits and
/// `-._~` is encoded.
public struct HTTPParameters: Sendable, Hashable, ExpressibleByDictionaryLiteral, HTTPConcealed {
  /// The items, in order.
  private(set) var items: [URLQueryItem] = []

  /// Creates a list without items.
  public init() {}

  /// Creates a list of the items of a dictionary, in the order of their names.
  public init(_ dictionary: [String: String]) {
    for (name, value) in dictionary.sorted(by: { $0.key < $1.key }) { add(name, value) }
  }

  /// Adds an item and keeps those of the same name.
  public mutating func add(_ name: String, _ value: String) { items.append(URLQueryItem(name: name, value: value)) }

  private static let plain = CharacterSet(
    charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
  )

  /// The part of a URL after the question mark.
  var query: String {
    func encode(_ text: String?) -> String { text?.addingPercentEncoding(withAllowedCharacters: Self.plain) ?? "" }
    return items.map { encode($0.name) + "=" + encode($0.value) }.joined(separator: "&")
  }

  /// A body of the type `application/x-www-form-urlencoded`.
  var form: Data { Data(query.replacing("%20", with: "+").utf8) }

  /// Creates a list of the items of a literal, in its order; a name may occur more than once.
  public init(dictionaryLiteral elements: (String, String)...) { for (name, value) in elements { add(name, value) } }

  /// The names, without the values, which may be passwords.
  public var description: String { "HTTPParameters(\(items.map(\.name).joined(separator: ", ")))" }
}

/// Dates in the formats of header fields.
enum HTTPDate {
  private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

  /// Returns the date of a text in any order of time, day, month and year, as RFC 6265, section 5.1.1, reads it.
  ///
  /// A `DateFormatter` costs milliseconds for each malformed date, of which a server may send thousands.
  static func parse(_ text: String) -> Date? {
    var (time, day, month, year): ([Int]?, Int?, Int?, Int?)
    for token in text.utf8.prefix(256).split(whereSeparator: isDelimiter) {
      let parts = token.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map {
        number($0, upTo: 2)
      }
      if time == nil, parts.count == 3, let found = parts as? [Int] {
        time = found
      } else if day == nil, let found = number(token, upTo: 2) {
        day = found
      } else if month == nil,
        let found = months.firstIndex(of: String(decoding: token.prefix(3), as: UTF8.self).lowercased())
      {
        month = found + 1
      } else if year == nil, token.count > 1, let found = number(token, upTo: 4) {
        year = found < 70 ? found + 2000 : found < 100 ? found + 1900 : found
      }
    }
    guard let time, let day, let month, let year, year > 1600, time[0] < 24, time[1] < 60, time[2] < 60 else {
      return nil
    }
    let lengths = [
      31, year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31,
    ]
    guard (1...lengths[month - 1]).contains(day) else { return nil }
    // Days since 1970; a year begins in March, so that its last day may be a leap day.
    let (shifted, position) = (month < 3 ? year - 1 : year, (month + 9) % 12)
    let days = shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (position * 153 + 2) / 5 + day - 719_469
    return Date(timeIntervalSince1970: Double(days * 86_400 + time[0] * 3_600 + time[1] * 60 + time[2]))
  }

  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: ":"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), 0x80...:
      false
    default: true
    }
  }

  private static func number(_ digits: Substring.UTF8View, upTo length: Int) -> Int? {
    guard (1...length).contains(digits.count), digits.allSatisfy({ (48...57).contains($0) }) else { return nil }
    return Int(String(decoding: digits, as: UTF8.self))
  }
}
