// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseCheckpoints

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The content of a lock's file.
struct SchemaFile: Codable, Equatable {
  /// A stored case.
  struct Case: Codable, Equatable {
    /// The types of the values, by their paths below the case: `labels.inner`, `list[]`, `dictionary.*`.
    ///
    /// Each as the text of a `ValueType`.
    var types: [String: String] = [:]
    /// The samples in their stored form.
    var samples: [String] = []
    /// The values that each sample is decoded as, by the sample.
    ///
    /// See ``SchemaReading``.
    var readings: [String: [String: String]] = [:]

    /// Adds what is stored now.
    mutating func add<P>(_ other: Case, _ coder: StageCoder<P>) {
      types.merge(other.types) { old, new in ValueType(old).adding(ValueType(new)).text }
      samples += other.samples.filter { sample in !samples.contains { Self.areEqual($0, sample, coder) } }
      readings = Dictionary(uniqueKeysWithValues: samples.map { ($0, Self.reading(of: $0, coder)) })
    }

    /// The values of a sample that are the same each time that it is decoded: not a new `UUID()` or the time.
    private static func reading<P>(of sample: String, _ coder: StageCoder<P>) -> [String: String] {
      func values() -> [String: String] {
        let stage = try? coder.decode(Array(sample.utf8), schemaVersion: coder.schemaVersion)
        return stage.map { SchemaReading(of: $0).values } ?? [:]
      }
      let again = values()
      return values().filter { path, text in again[path] == text }
    }

    /// Returns the changes that lose stored values or make them unreadable.
    ///
    /// `now` is the case in its current form, nil when it no longer exists; `name` is its name, empty for a type other
    /// than an enum. `cases` are the cases of enums that exist now, by their paths in Swift.
    func edits<P>(_ now: Case?, name: String, cases: [String: Set<String>], _ coder: StageCoder<P>) -> [String] {
      var edits: [String] = []
      for sample in samples {
        let edit = edit(of: sample, isGone: now == nil, cases: cases, coder)
        guard let edit, !edits.contains(edit) else { continue }
        edits.append(edit)
      }
      guard let now, edits.isEmpty else { return edits }
      let sorted = types.sorted { $0.key < $1.key }
      edits = sorted.compactMap { path, type in
        guard let new = now.types[path], ValueType(type).losesValues(as: ValueType(new)) else { return nil }
        return "\(path) was \(type) and is \(new), which cannot represent all of its values"
      }
      return edits + unreadableWithout(name: name, coder, version: coder.schemaVersion)
    }

    /// Returns why stages that an older version stored cannot be read; empty when all can.
    func unreadable<P>(name: String, _ coder: StageCoder<P>, version: Int) -> [String] {
      for sample in samples {
        do { _ = try coder.decode(Array(sample.utf8), schemaVersion: version) } catch { return [error.reason] }
      }
      return unreadableWithout(name: name, coder, version: version)
    }

    /// Returns the values that may be absent or null in stored stages and cannot be read then, although the samples
    /// can.
    private func unreadableWithout<P>(name: String, _ coder: StageCoder<P>, version: Int) -> [String] {
      types.sorted { $0.key < $1.key }.flatMap { path, type in
        let type = ValueType(type)
        let removals: [(JSONTree.Removal, String)] =
          (type.mayBeAbsent ? [(.absent, "absent")] : []) + (type.mayBeNull ? [(.null, "null")] : [])
        return removals.compactMap { removal, word in
          let isRead = samples.lazy.compactMap { sample in Self.removing(path, removal, of: sample, in: name) }
            .allSatisfy { stage in (try? coder.decode(stage, schemaVersion: version)) != nil }
          return isRead ? nil : "\(path) (\(type.text)) may be \(word) in what is stored, and cannot be read so"
        }
      }
    }

    /// Returns a sample without the values under a path; nil when it has none.
    private static func removing(_ path: String, _ removal: JSONTree.Removal, of sample: String, in name: String)
      -> [UInt8]?
    {
      guard let tree = try? JSONDecoder().decode(JSONTree.self, from: Data(sample.utf8)) else { return nil }
      let changed: JSONTree?
      if !name.isEmpty, case .object(let cases) = tree, cases.count == 1, let labels = cases[name] {
        changed = labels.removing(path[...], removal).map { .object([name: $0]) }
      } else {
        changed = tree.removing(path[...], removal)
      }
      return changed.flatMap { try? JSONEncoder().encode($0) }.map(Array.init)
    }

    /// Returns what is lost when a sample is read and stored again.
    private func edit<P>(
      of sample: String,
      isGone: Bool,
      cases: [String: Set<String>],
      _ coder: StageCoder<P>
    ) -> String? {
      let stage: P
      do {
        stage = try coder.decode(Array(sample.utf8), schemaVersion: coder.schemaVersion)
      } catch {
        return isGone ? "the case was removed or renamed" : error.reason
      }
      do {
        let decoder = JSONDecoder()
        let before = try decoder.decode(JSONTree.self, from: Data(sample.utf8))
        let after = try decoder.decode(JSONTree.self, from: Data(coder.encode(stage)))
        guard let loss = before.loss(in: after) else {
          return readings[sample].flatMap { SchemaReading(of: stage).change(from: $0, cases: cases) }
        }
        let path = ShapeRecorder.text(of: loss.path)
        let below = ShapeRecorder.text(of: Array(loss.path.dropFirst()))
        // The first component is the case, for an enum whose cases are keys.
        if let type = types[path] { return "\(path) (\(type)) \(loss.reason)" }
        if let type = types[below] { return "\(below) (\(type)) \(loss.reason)" }
        return "\(path.isEmpty ? "it" : path) \(loss.reason)"
      } catch {
        return "\(error)"
      }
    }

    private static func areEqual<P>(_ one: String, _ other: String, _ coder: StageCoder<P>) -> Bool {
      if one == other { return true }
      func stage(_ text: String) -> P? { try? coder.decode(Array(text.utf8), schemaVersion: coder.schemaVersion) }
      // A set is stored in a different order each time.
      guard let one = stage(one) as? any Equatable, let other = stage(other) else { return false }
      return isEqual(one, other)
    }

    private static func isEqual<E: Equatable>(_ one: E, _ other: some Sendable) -> Bool { one == other as? E }
  }

  var progression: String
  /// The cases, by schema version and name.
  var versions: [String: [String: Case]]
}

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
