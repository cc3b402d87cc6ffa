// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// Records which types are stored under which paths.
final class ShapeRecorder {
  /// The keys at the top level: the case of an enum, or the properties of a struct.
  private(set) var topKeys: Set<String> = []
  private(set) var types: [[String]: ValueType] = [:]
  /// The empty collections, and their types if they are known.
  private var empty: [[String]: String] = [:]
  /// The collections that have elements.
  private var filled: [[String]: String] = [:]
  /// The optional values that are nil, and their types.
  private var missing: [[String]: String] = [:]
  /// The optional values that are present.
  private var present: [[String]: String] = [:]

  func see(key: String) { topKeys.insert(key) }

  func record(_ path: [String], _ type: String) { types[path, default: ValueType(kinds: [])].kinds.insert(type) }

  /// Records that null is stored for an optional value that is nil.
  func recordNull(_ path: [String]) { types[path, default: ValueType(kinds: [])].mayBeNull = true }

  /// Records that nothing is stored for an optional value that is nil.
  func recordAbsence(_ path: [String]) { types[path, default: ValueType(kinds: [])].mayBeAbsent = true }

  /// Records an optional value.
  func recordOptional(_ path: [String], of type: String, isPresent: Bool) {
    if isPresent { present[path] = type } else { missing[path] = type }
  }

  /// Records a collection, before its elements.
  func begin(_ path: [String], _ type: String?) { empty[path] = type ?? "" }

  /// Records an element of a collection.
  func fill(_ path: [String], _ type: String?) {
    empty[path] = nil
    filled[path] = type ?? ""
  }

  /// Whether the stage consists of a single value.
  var isValue: Bool { topKeys.isEmpty && empty.isEmpty && filled.isEmpty }

  /// The empty collections, except at the leaves of a tree whose nodes contain such collections.
  var unknown: [[String]] { Self.unknown(empty, besides: filled) }

  /// The optional values that are nil, except at the leaves of a tree.
  var unknownOptionals: [[String]] { Self.unknown(missing, besides: present).filter { present[$0] == nil } }

  private static func unknown(_ ends: [[String]: String], besides inner: [[String]: String]) -> [[String]] {
    ends.filter { path, type in
      !inner.contains { above, kind in kind == type && !type.isEmpty && path.starts(with: above) }
    }.map(\.key)
  }

  /// The text of a path in a file.
  static func text(of path: [String]) -> String { path.joined(separator: ".").replacing(".[]", with: "[]") }
}
