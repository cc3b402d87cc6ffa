// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation
import StepwiseCheckpoints
import StepwiseFlows

extension SchemaLock {
  /// Adds what is stored now to what was stored before.
  func add(_ shape: CaseShape, to stored: inout SchemaFile.Case) {
    for (path, type) in shape.types { stored.types[path, default: ValueType()].add(type) }
    for sample in shape.samples where !stored.samples.contains(where: { areEqual($0, sample) }) {
      stored.samples.append(sample)
    }
    stored.readings = Dictionary(uniqueKeysWithValues: stored.samples.map { ($0, reading(of: $0)) })
  }

  /// The values of a sample that are the same each time that it is decoded: not a new `UUID()` or the time.
  private func reading(of sample: String) -> [String: String] {
    func values() -> [String: String] { stage(sample).map { SchemaReading(of: $0).values } ?? [:] }
    let again = values()
    return values().filter { path, text in again[path] == text }
  }

  private func areEqual(_ one: String, _ other: String) -> Bool {
    func isEqual<E: Equatable>(_ one: E, _ other: P) -> Bool { one == other as? E }
    if one == other { return true }
    // A set is stored in a different order each time.
    guard let one = stage(one) as? any Equatable, let other = stage(other) else { return false }
    return isEqual(one, other)
  }

  private func stage(_ sample: String) -> P? {
    try? coder.decode(Array(sample.utf8), schemaVersion: coder.schemaVersion)
  }

  /// Returns the changes that lose stored values of a case or make them unreadable.
  ///
  /// `types` are those that it has now, nil when it no longer exists; `name` is its name, empty for a type other than an
  /// enum. `cases` are the cases of enums that exist now, by their paths in Swift.
  func edits(
    of stored: SchemaFile.Case,
    _ types: [String: ValueType]?,
    name: String,
    cases: [String: Set<String>]
  ) -> [String] {
    var edits: [String] = []
    for sample in stored.samples {
      let edit = edit(of: sample, in: stored, isGone: types == nil, cases: cases)
      guard let edit, !edits.contains(edit) else { continue }
      edits.append(edit)
    }
    guard let types, edits.isEmpty else { return edits }
    edits = stored.types.sorted { $0.key < $1.key }.compactMap { path, type in
      guard let new = types[path], type.losesValues(as: new) else { return nil }
      return "\(path) was \(type.rawValue) and is \(new.rawValue), which cannot represent all of its values"
    }
    return edits + unreadableWithout(stored, name: name, version: coder.schemaVersion)
  }

  /// Returns why stages that an older version stored cannot be read; empty when all can.
  func unreadable(_ stored: SchemaFile.Case, name: String, version: Int) -> [String] {
    for sample in stored.samples {
      do { _ = try coder.decode(Array(sample.utf8), schemaVersion: version) } catch { return [error.reason] }
    }
    return unreadableWithout(stored, name: name, version: version)
  }

  /// Returns the values that may be absent or null in stored stages and cannot be read then, although the samples can.
  private func unreadableWithout(_ stored: SchemaFile.Case, name: String, version: Int) -> [String] {
    stored.types.sorted { $0.key < $1.key }.flatMap { path, type in
      let forms: [(JSONValue?, String)] =
        (type.mayBeAbsent ? [(nil, "absent")] : []) + (type.mayBeNull ? [(JSONValue(value: nil), "null")] : [])
      return forms.compactMap { form, word in
        let isRead = stored.samples.lazy.compactMap { sample in replacing(path, of: sample, in: name, with: form) }
          .allSatisfy { stage in (try? coder.decode(stage, schemaVersion: version)) != nil }
        return isRead ? nil : "\(path) (\(type.rawValue)) may be \(word) in what is stored, and cannot be read so"
      }
    }
  }

  /// Returns a sample with others than its values under a path below its case; nil when it has none.
  private func replacing(_ path: String, of sample: String, in name: String, with form: JSONValue?) -> [UInt8]? {
    guard let stage = try? JSONDecoder().decode(JSONValue.self, from: Data(sample.utf8)) else { return nil }
    let keys = (stage.value as? [String: JSONValue])?.keys
    let isCase = !name.isEmpty && keys?.elementsEqual([name]) == true
    let changed = stage.replacing(CaseShape.text(of: isCase ? [name, path] : [path]), with: form)
    return changed.flatMap { try? JSONEncoder().encode($0) }.map(Array.init)
  }

  /// Returns what is lost when a sample is read and stored again.
  private func edit(
    of sample: String,
    in stored: SchemaFile.Case,
    isGone: Bool,
    cases: [String: Set<String>]
  ) -> String? {
    let stage: P
    do {
      stage = try coder.decode(Array(sample.utf8), schemaVersion: coder.schemaVersion)
    } catch {
      return isGone ? "the case was removed or renamed" : error.reason
    }
    do {
      let before = try JSONDecoder().decode(JSONValue.self, from: Data(sample.utf8))
      let after = try JSONDecoder().decode(JSONValue.self, from: Data(coder.encode(stage)))
      guard let loss = before.loss(in: after) else {
        return stored.readings[sample].flatMap { SchemaReading(of: stage).change(from: $0, cases: cases) }
      }
      // The first component is the case, for an enum whose cases are keys.
      let paths = [loss.path, Array(loss.path.dropFirst())].map(CaseShape.text)
      for path in paths { if let type = stored.types[path] { return "\(path) (\(type.rawValue)) \(loss.reason)" } }
      return "\(paths[0].isEmpty ? "it" : paths[0]) \(loss.reason)"
    } catch {
      return "\(error)"
    }
  }
}

extension JSONValue {
  /// Returns what this value has and another one lacks, which may have more; nil when nothing is missing.
  func loss(in other: JSONValue, path: [String] = []) -> (path: [String], reason: String)? {
    let loss = (path, "was \(summary) and is read as \(other.summary)")
    switch (value, other.value) {
    case (let mine as [String: JSONValue], let others as [String: JSONValue]):
      for (key, value) in mine.sorted(by: { $0.key < $1.key }) {
        guard let there = others[key] else { return (path + [key], "is gone") }
        if let loss = value.loss(in: there, path: path + [key]) { return loss }
      }
      return nil
    case (let mine as [JSONValue], let others as [JSONValue]) where mine.count == others.count:
      let losses = zip(mine, others).compactMap { $0.loss(in: $1, path: path + ["[]"]) }
      // A set is stored in a different order each time.
      let isShuffled = mine.allSatisfy { mine in others.contains { mine.loss(in: $0) == nil } }
      return isShuffled ? nil : losses.first
    case (nil, nil): return nil
    case (let mine as Bool, let other as Bool): return mine == other ? nil : loss
    case (let mine as String, let other as String): return mine.utf8.elementsEqual(other.utf8) ? nil : loss
    case (let mine as Double, let other as Double): return mine == other ? nil : loss
    // A large number is stored with an exponent by one type and without it by another.
    default: return wholeNumber != nil && wholeNumber == other.wholeNumber ? nil : loss
    }
  }

  private var wholeNumber: Int128? {
    (value as? any BinaryInteger).flatMap { Int128(exactly: $0) } ?? (value as? Double).flatMap { Int128(exactly: $0) }
  }

  private var summary: String {
    switch value {
    case nil: "null"
    case let text as String: "\"\(text.prefix(40))\""
    case let list as [JSONValue]: "a list of \(list.count)"
    case let object as [String: JSONValue]: "an object with \(object.keys.sorted().prefix(5).joined(separator: ", "))"
    case let value?: "\(value)"
    }
  }

  /// Returns the value, whose own path is `place`, with others than those under a path such as `labels.inner`, `list[]` or
  /// `dictionary.*`, or without them; nil when it has none.
  fileprivate func replacing(_ path: String, with form: JSONValue?, at place: String = "") -> JSONValue? {
    switch value {
    case var object as [String: JSONValue]:
      var isChanged = false
      for (key, value) in object {
        // A key may contain dots, and a star matches each key.
        for name in [key, "*"] {
          let below = place.isEmpty ? name : "\(place).\(name)"
          if below == path {
            object[key] = form
          } else if path.hasPrefix(below), let changed = value.replacing(path, with: form, at: below) {
            object[key] = changed
          } else {
            continue
          }
          isChanged = true
        }
      }
      return isChanged ? JSONValue(value: object) : nil
    case let list as [JSONValue]:
      let below = place + "[]"
      guard path.hasPrefix(below) else { return nil }
      let changed = list.map { below == path ? form : $0.replacing(path, with: form, at: below) }
      return changed.contains { $0 != nil } ? JSONValue(value: zip(changed, list).map { $0 ?? $1 }) : nil
    default:
      return nil
    }
  }
}
