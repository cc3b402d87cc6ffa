// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Names and values of a query or a form, in the order in which they were written.
@available(*, deprecated, message: "Use HTTPParameters of StepwiseHTTP")
public struct HTTPValues: ExpressibleByDictionaryLiteral {
  /// The names and values.
  @available(*, deprecated, message: "Use items of HTTPParameters in StepwiseHTTP")
  public let pairs: [(name: String, value: Any)]

  /// Creates values in the order of a literal.
  public init(dictionaryLiteral elements: (String, Any)...) {
    pairs = elements.map { (name: $0.0, value: $0.1) }
  }

  /// Creates values from a dictionary, sorted by name, since a dictionary has no order.
  @available(*, deprecated, message: "Use HTTPParameters of StepwiseHTTP")
  public init(_ values: [String: Any]) {
    pairs = values.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
  }

  /// The values as a query: a space is a plus sign, and an array is its description.
  var query: String {
    pairs.map { "\(Self.escapedInQuery($0.name))=\(Self.escapedInQuery("\($0.value)"))" }.joined(separator: "&")
  }

  /// The values as a form: each element of an array is a field of its own.
  var form: String {
    pairs.flatMap { name, value in (value as? [Any] ?? [value]).map { (name, "\($0)") } }
      .map { name, value in "\(Self.escapedInForm(name))=\(Self.escapedInForm(value))" }.joined(separator: "&")
  }

  private static func escapedInQuery(_ text: String) -> String {
    escaped(text, " _.-").split(separator: " ", omittingEmptySubsequences: false).joined(separator: "+")
  }

  private static func escapedInForm(_ text: String) -> String { escaped(text, "-_.[]") }

  /// Escapes all bytes but those of ASCII letters, digits and some others.
  private static func escaped(_ text: String, _ others: String) -> String {
    text.utf8.reduce(into: "") { text, byte in
      let character = Character(UnicodeScalar(byte))
      if character.isASCII, character.isLetter || character.isNumber || others.contains(character) {
        text.append(character)
      } else {
        let digits = String(byte, radix: 16, uppercase: true)
        text += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
      }
    }
  }
}
