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
  /// A case as it is stored.
  struct Case: Codable, Equatable {
    /// The types of the values, by their paths below the case: `labels.inner`, `list[]`, `dictionary.*`.
    var types: [String: String] = [:]
    /// Stages as they are stored.
    var samples: [String] = []

    /// Adds what is stored now.
    mutating func add<P>(_ other: Case, _ coder: StageCoder<P>) {
      types.merge(other.types) { old, new in new == "nil" ? old : new }
      samples += other.samples.filter { sample in !samples.contains { Self.areEqual($0, sample, coder) } }
    }

    /// What was changed so that stored values are lost, or cannot be read.
    func edits<P>(_ now: Case?, _ coder: StageCoder<P>) -> [String] {
      var edits: [String] = []
      for sample in samples {
        guard let edit = edit(of: sample, isGone: now == nil, coder), !edits.contains(edit) else { continue }
        edits.append(edit)
      }
      guard let now, edits.isEmpty else { return edits }
      return types.sorted { $0.key < $1.key }.compactMap { path, type in
        guard let new = now.types[path], NumberType(type)?.isNarrowed(to: new) == true else { return nil }
        return "\(path) was \(type) and is \(new), which has fewer values"
      }
    }

    /// Why stages that an older version stored cannot be read; nil when all can.
    func unreadable<P>(_ coder: StageCoder<P>, version: Int) -> String? {
      for sample in samples {
        do { _ = try coder.decode(Array(sample.utf8), schemaVersion: version) } catch { return error.reason }
      }
      return nil
    }

    /// What is lost of a sample by reading it and storing it again.
    private func edit<P>(of sample: String, isGone: Bool, _ coder: StageCoder<P>) -> String? {
      let stage: P
      do {
        stage = try coder.decode(Array(sample.utf8), schemaVersion: coder.schemaVersion)
      } catch {
        return isGone ? "the case is gone or has another name" : error.reason
      }
      do {
        let decoder = JSONDecoder()
        let before = try decoder.decode(JSONTree.self, from: Data(sample.utf8))
        let after = try decoder.decode(JSONTree.self, from: Data(coder.encode(stage)))
        guard let loss = before.loss(in: after) else { return nil }
        let path = ShapeRecorder.text(of: loss.path)
        let below = ShapeRecorder.text(of: Array(loss.path.dropFirst()))
        // The first part is the case, of an enum whose cases are keys.
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
      // A set, too, is stored in another order each time.
      guard let one = stage(one) as? any Equatable, let other = stage(other) else { return false }
      return isEqual(one, other)
    }

    private static func isEqual<E: Equatable>(_ one: E, _ other: some Sendable) -> Bool { one == other as? E }
  }

  var progression: String
  /// The cases, by schema version and name.
  var versions: [String: [String: Case]]
}

/// A type of numbers, as far as it decides which ones can be read.
private enum NumberType {
  case integer(ClosedRange<Double>)
  case fraction(bits: Int)

  init?(_ name: String) {
    switch name {
    case "Int8": self = .integer(-0x1p7...0x1p7 - 1)
    case "Int16": self = .integer(-0x1p15...0x1p15 - 1)
    case "Int32": self = .integer(-0x1p31...0x1p31 - 1)
    case "Int", "Int64": self = .integer(-0x1p63...0x1p63)
    case "UInt8": self = .integer(0...0x1p8 - 1)
    case "UInt16": self = .integer(0...0x1p16 - 1)
    case "UInt32": self = .integer(0...0x1p32 - 1)
    case "UInt", "UInt64": self = .integer(0...0x1p64)
    case "Float": self = .fraction(bits: 32)
    case "Double": self = .fraction(bits: 64)
    default: return nil
    }
  }

  func isNarrowed(to name: String) -> Bool {
    switch (self, NumberType(name)) {
    case (.integer(let old), .integer(let new)): old.clamped(to: new) != old
    case (.fraction, .integer): true
    case (.fraction(let old), .fraction(let new)): new < old
    case (.integer, .fraction), (_, nil): false
    }
  }
}
