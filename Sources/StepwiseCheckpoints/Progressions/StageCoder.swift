// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

package import Stepwise

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Converts stages to records and back.
package struct StageCoder<P: Progression & Codable>: Sendable {
  /// The name of the type in checkpoints.
  package let name: String
  /// The version of the stored shape of the stages.
  package let schemaVersion: Int
  private let migrations: [CheckpointMigration<P>]

  package init() {
    if let versioned = P.self as? any VersionedProgression.Type {
      (name, schemaVersion) = (versioned.progressionName, versioned.schemaVersion)
      migrations = Self.migrations(of: versioned)
    } else {
      (name, schemaVersion, migrations) = (Self.typeName, 0, [])
    }
  }

  /// The qualified name of the type.
  ///
  /// For a private type the address is omitted, because it changes with every build.
  package static var typeName: String { StoredReason.typeName(P.self) }

  /// A Boolean value that indicates whether another private type of this process has the name.
  package var isAmbiguous: Bool {
    guard String(reflecting: P.self).contains("(unknown context at "), name == Self.typeName else { return false }
    let type = ObjectIdentifier(P.self)
    return privateTypes.withLock { types in
      let owner = types[name] ?? type
      types[name] = owner
      return owner != type
    }
  }

  package func encode(_ stage: P) throws -> [UInt8] {
    try Array(JSONEncoder.ofStages.encode(stage))
  }

  /// Encodes a stage that can be decoded again, as an equal one if it is `Equatable`.
  package func encodeToSave(_ stage: P, id: String, location: String) throws(CheckpointError) -> [UInt8] {
    do {
      let bytes = try encode(stage)
      let copy = Result { () throws(DataError) in try decode(bytes, schemaVersion: schemaVersion) }
        .mapError { DataError(reason: "it could not be decoded again: \($0.reason)") }
      try StageDifference.check(copy.get(), equals: stage)
      return bytes
    } catch {
      throw .unencodable(id: id, location: location, reason: StoredReason.text(error))
    }
  }

  /// Decodes a stage that was stored in any version of the shape.
  package func decode(_ bytes: [UInt8], schemaVersion stored: Int) throws(DataError) -> P {
    do {
      if stored == schemaVersion { return try JSONDecoder.ofStages.decode(P.self, from: Data(bytes)) }
      guard let migration = migrations.first(where: { $0.version == stored }) else {
        throw DataError(
          reason: stored > schemaVersion
            ? "this program knows versions up to \(schemaVersion); update the program"
            : "there is no migration to version \(schemaVersion); declare a CheckpointMigration(from: \(stored))"
        )
      }
      return try migration.migrate(bytes)
    } catch let error as DataError {
      throw error
    } catch {
      let advice =
        stored == schemaVersion
        ? "declare schemaVersion \(stored &+ 1) and a CheckpointMigration(from: \(stored))"
        : "correct the CheckpointMigration(from: \(stored))"
      throw DataError(reason: "\(StoredReason.text(error)); \(advice)")
    }
  }

  private static func migrations<V: VersionedProgression>(of type: V.Type) -> [CheckpointMigration<P>] {
    V.migrations as? [CheckpointMigration<P>] ?? []
  }
}

/// Why something could not be stored, for error texts.
enum StoredReason {
  /// Returns the qualified name of a type, for a private one without the address, which changes with every build.
  static func typeName(_ type: Any.Type) -> String {
    let name = String(reflecting: type)
    // Other types are many more, and a pattern takes a while.
    guard name.contains("(unknown context at ") else { return name }
    return name.replacing(/\(unknown context at [^)]*\)\./, with: "")
  }

  /// Returns the description of an error, without the value that it concerns, and cut when it is long.
  static func text(_ error: any Error) -> String {
    if let error = error as? DataError { return error.reason }
    var text: String
    if case EncodingError.invalidValue(_, let context) = error {
      let path = context.codingPath.map(\.stringValue).joined(separator: ".")
      text = path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)"
    } else {
      text = String(describing: error)
    }
    if text.count > 300 { text = text.prefix(300) + "…" }
    return text
  }
}

extension JSONEncoder {
  /// Stores numbers that JSON lacks as words, and keys in a stable order.
  static let ofStages = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf",
      negativeInfinity: "-inf",
      nan: "nan"
    )
    return encoder
  }()
}

extension JSONDecoder {
  static let ofStages = {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf",
      negativeInfinity: "-inf",
      nan: "nan"
    )
    return decoder
  }()
}

/// The private and local types that run under checkpoints in this process, by their names.
///
/// The name of such a type does not distinguish it from another one in a different file or function. What distinguishes
/// them changes with every build, so checkpoints cannot store it.
private let privateTypes = Lock([String: ObjectIdentifier]())

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
    if case .path(let path) = between(one, other, at: "") { path } else { nil }
  }

  /// Checks that the decoded copy of an `Equatable` value equals it.
  static func check(_ copy: Any, equals value: Any) throws(DataError) {
    guard value is any Equatable, let path = path(from: value, to: copy) else { return }
    throw DataError(reason: "\(path.isEmpty ? "it" : path) changes when it is stored and decoded")
  }

  private static func between(_ one: Any, _ other: Any, at path: String) -> StageDifference {
    guard type(of: one) == type(of: other) else { return .path(path) }
    let equatable = one as? any Equatable
    if let equatable, isEqual(equatable, other) { return .none }
    var (isEmpty, inside) = (true, StageDifference.none)
    // The inside of a URL says nothing to a reader.
    if !String(reflecting: type(of: one)).hasPrefix("Foundation") {
      for (name, value, copy) in children(one, other) {
        isEmpty = false
        guard let value, let copy else { return .path(path) }
        switch between(value, copy, at: name.isEmpty ? path : joined(path, name)) {
        case .none: continue
        case .irreflexive: inside = .irreflexive
        case .path(let path): return .path(path)
        }
      }
    }
    guard case .none = inside, let equatable else { return inside }
    // Nothing inside differs: the whole does, unless it is a single value that does not equal itself.
    let isIrreflexive =
      isEmpty && !isEqual(equatable, one) && !((other as? any Equatable).map { isEqual($0, other) } ?? true)
    return isIrreflexive ? .irreflexive : .path(path)
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
