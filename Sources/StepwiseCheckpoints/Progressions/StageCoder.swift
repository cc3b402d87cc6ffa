// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

package import Stepwise

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Makes records of stages and stages of records.
package struct StageCoder<P: Progression & Codable>: Sendable {
  /// What stands in checkpoints for the type.
  package let name: String
  /// The version of the shape in which stages are stored.
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
  /// Of a private type it leaves out the address, which changes with every build.
  package static var typeName: String {
    var (name, isInside) = ("", false)
    for part in String(reflecting: P.self).split(separator: ".") {
      if part.hasPrefix("(unknown context at ") {
        isInside = !part.hasSuffix(")")
      } else if isInside {
        isInside = !part.hasSuffix(")")
      } else {
        name += name.isEmpty ? String(part) : "." + part
      }
    }
    return name
  }

  /// A Boolean value that indicates whether another private type of this process has the name.
  var isAmbiguous: Bool {
    String(reflecting: P.self).contains("(unknown context at ") && name == Self.typeName
      && !PrivateTypeNames.claim(name, for: P.self)
  }

  package func encode(_ stage: P) throws -> [UInt8] {
    try DepthProbe.check(stage)
    return try Array(JSONEncoder.ofStages.encode(stage))
  }

  /// Returns whether two stages would be stored as the same values.
  ///
  /// NaN is the same as NaN here, also in types that compare it by `==`: each is compared with infinity of either sign in
  /// place of NaN. That cannot be read off the bytes, as a set is stored in another order each time.
  func areStoredAlike<E: Equatable>(_ one: P, _ other: P, as type: E.Type) throws -> Bool {
    for substitute in ["inf", "-inf"] {
      func restored(_ stage: P) throws -> E? {
        let encoder = JSONEncoder.stages(storingNaNAs: substitute)
        return try JSONDecoder.ofStages.decode(P.self, from: encoder.encode(stage)) as? E
      }
      guard try restored(one) == restored(other) else { return false }
    }
    return true
  }

  /// Decodes a stage that was stored in some version of the shape.
  package func decode(_ bytes: [UInt8], schemaVersion stored: Int) throws(UnknownShape) -> P {
    do {
      if stored == schemaVersion { return try JSONDecoder.ofStages.decode(P.self, from: Data(bytes)) }
      guard let migration = migrations.first(where: { $0.version == stored }) else {
        throw UnknownShape(
          reason: stored > schemaVersion
            ? "this program knows versions up to \(schemaVersion)"
            : "there is no migration from version \(stored) to \(schemaVersion)"
        )
      }
      return try migration.migrate(bytes)
    } catch let error as UnknownShape {
      throw error
    } catch {
      throw UnknownShape(reason: Self.reason(error))
    }
  }

  /// What an error says, without the value that it is about, and cut when it is long.
  static func reason(_ error: any Error) -> String {
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

  private static func migrations<V: VersionedProgression>(of type: V.Type) -> [CheckpointMigration<P>] {
    V.migrations as? [CheckpointMigration<P>] ?? []
  }
}

/// Why bytes are no stage.
package struct UnknownShape: Error {
  package let reason: String
}

extension JSONEncoder {
  /// Numbers that JSON lacks are stored as words, and keys in an order that does not change.
  static var ofStages: JSONEncoder { stages(storingNaNAs: "nan") }

  static func stages(storingNaNAs word: String) -> JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf",
      negativeInfinity: "-inf",
      nan: word
    )
    return encoder
  }
}

extension JSONDecoder {
  static var ofStages: JSONDecoder {
    let decoder = JSONDecoder()
    decoder.nonConformingFloatDecodingStrategy = .convertFromString(
      positiveInfinity: "inf",
      negativeInfinity: "-inf",
      nan: "nan"
    )
    return decoder
  }
}
