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
    try Array(JSONEncoder.ofStages.encode(stage))
  }

  /// Decodes a stage that was stored in any version of the shape.
  package func decode(_ bytes: [UInt8], schemaVersion stored: Int) throws(UnknownShape) -> P {
    do {
      if stored == schemaVersion { return try JSONDecoder.ofStages.decode(P.self, from: Data(bytes)) }
      guard let migration = migrations.first(where: { $0.version == stored }) else {
        throw UnknownShape(
          reason: stored > schemaVersion
            ? "this program knows versions up to \(schemaVersion); update the program"
            : "there is no migration to version \(schemaVersion); declare a CheckpointMigration(from: \(stored))"
        )
      }
      return try migration.migrate(bytes)
    } catch let error as UnknownShape {
      throw error
    } catch {
      let advice =
        stored == schemaVersion
        ? "declare schemaVersion \(stored + 1) and a CheckpointMigration(from: \(stored))"
        : "correct the CheckpointMigration(from: \(stored))"
      throw UnknownShape(reason: "\(Self.reason(error)); \(advice)")
    }
  }

  /// Returns the description of an error, without the value that it concerns, and cut when it is long.
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

/// The reason why bytes are not a stage.
package struct UnknownShape: Error {
  package let reason: String
}

extension JSONEncoder {
  /// Stores numbers that JSON lacks as words, and keys in a stable order.
  static var ofStages: JSONEncoder {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.nonConformingFloatEncodingStrategy = .convertToString(
      positiveInfinity: "inf",
      negativeInfinity: "-inf",
      nan: "nan"
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
