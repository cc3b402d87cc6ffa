// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The difference between a stage and its decoded copy.
///
/// A value that does not equal itself, such as NaN, is not a difference where both have such a value.
enum StageDifference {
  /// The values are equal.
  case none
  /// The values are not equal, only because they contain values that do not equal themselves.
  case irreflexive
  /// The first difference, such as `read.lines[0]`; empty for the whole.
  case path(String)

  /// Returns the path of the first difference; nil if there is none.
  static func path(from one: Any, to other: Any) -> String? {
    if case .path(let path) = StageDifference(one, other, at: "") { path } else { nil }
  }

  private init(_ one: Any, _ other: Any, at path: String) {
    self = .none
    guard type(of: one) == type(of: other) else {
      self = .path(path)
      return
    }
    let equatable = one as? any Equatable
    if let equatable, Self.isEqual(equatable, other) { return }
    var isEmpty = true
    // The inside of a URL says nothing to a reader.
    if !String(reflecting: type(of: one)).hasPrefix("Foundation") {
      for (name, value, copy) in Self.children(one, other) {
        isEmpty = false
        guard let value, let copy else {
          self = .path(path)
          return
        }
        switch StageDifference(value, copy, at: name.isEmpty ? path : Self.joined(path, name)) {
        case .none: continue
        case .irreflexive: self = .irreflexive
        case .path(let path):
          self = .path(path)
          return
        }
      }
    }
    guard case .none = self, let equatable else { return }
    // Nothing inside differs: the whole does, unless it is a single value that does not equal itself.
    let isIrreflexive =
      isEmpty && !Self.isEqual(equatable, one) && !((other as? any Equatable).map { Self.isEqual($0, other) } ?? true)
    self = isIrreflexive ? .irreflexive : .path(path)
  }

  private typealias Child = (name: String, value: Any?, copy: Any?)

  /// Returns what two values of one type contain, in pairs; nil stands for a value that the other one lacks.
  private static func children(_ one: Any, _ other: Any) -> [Child] {
    let (mirror, copy) = (Mirror(reflecting: one), Mirror(reflecting: other))
    switch mirror.displayStyle {
    case .dictionary:
      // The order of a dictionary and of a set differs from copy to copy.
      guard let one = one as? [AnyHashable: Any], let other = other as? [AnyHashable: Any] else { return [] }
      return one.map { key, value in ("[\(key)]", value, other[key]) }
    case .set:
      guard let one = one as? Set<AnyHashable>, let other = other as? Set<AnyHashable> else { return [] }
      return one.filter { !other.contains($0) }.map { element in
        ("", element.base, element == element ? nil : element.base)
      }
    default:
      guard mirror.children.count == copy.children.count else { return [("", one, nil)] }
      return zip(mirror.children, copy.children).enumerated().map { index, pair in
        let name = pair.0.label.map { $0.hasPrefix(".") ? "_" + $0.dropFirst() : $0 } ?? "[\(index)]"
        let copy: Any? = pair.0.label == pair.1.label ? .some(pair.1.value) : nil
        return (mirror.displayStyle == .optional ? "" : name, pair.0.value, copy)
      }
    }
  }

  private static func joined(_ path: String, _ name: String) -> String {
    path.isEmpty || name.hasPrefix("[") ? path + name : "\(path).\(name)"
  }

  private static func isEqual<Value: Equatable>(_ one: Value, _ other: Any) -> Bool {
    (other as? Value).map { one == $0 } ?? false
  }
}
