// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A progression whose stored shape has changed, and that can still read stages that older versions stored.
///
/// Conform to it before you rename a case or a property that your users have stored.
///
/// ```swift
/// extension Import: VersionedProgression {
///   static let schemaVersion = 1
///   static let migrations: [CheckpointMigration<Import>] = [
///     CheckpointMigration(from: 0) { (old: ImportV0) in Import(old) }
///   ]
/// }
/// ```
///
/// A progression that does not conform has version 0, so the first migration converts from 0. A stage of an older
/// version is migrated when it is read, and is stored in the new shape with the next save. A version without a
/// migration, or a stage that does not decode, throws
/// ``CheckpointError/unknownShape(id:location:schemaVersion:reason:)``; the record stays unchanged.
///
/// A `Serial` of such progressions has their version and name, and migrates each of its stages.
public protocol VersionedProgression: Progression, Codable {
  /// The current version of the stored shape: 1 or higher.
  static var schemaVersion: Int { get }

  /// The migrations from older versions to this one.
  static var migrations: [CheckpointMigration<Self>] { get }

  /// The name of this type in checkpoints: by default its own, with the name of its module.
  ///
  /// Declare the old name when you rename the type, and you can still read its stages. Declare one for a private or local
  /// type, too, if another has the same name in a different file or function. When two such types run under checkpoints
  /// in one process, the second one throws ``CheckpointError/ambiguousType(id:location:name:)``.
  static var progressionName: String { get }
}

extension VersionedProgression {
  /// The name of the type, with the name of its module.
  public static var progressionName: String { StageCoder<Self>.typeName }
}

/// Converts a stage that an older version stored into one of this version.
///
/// Write one for each version that your users may still have on disk.
public struct CheckpointMigration<Stage>: Sendable {
  /// The older version; 0 for stages of a progression that declared none.
  public let version: Int

  /// Decodes the older shape and converts it.
  let decode: @Sendable (any Decoder) throws -> Stage

  /// Creates a migration.
  ///
  /// - Parameters:
  ///   - version: The older version; 0 for stages of a progression that declared none.
  ///   - migrate: Converts a stage in the older shape into one of this version. Keep the type of the older shape for
  ///     this; it need not be a progression.
  public init<Old: Decodable & SendableMetatype>(
    from version: Int,
    _ migrate: @escaping @Sendable (Old) throws -> Stage
  ) {
    self.init(version: version) { decoder in try migrate(decoder.singleValueContainer().decode(Old.self)) }
  }

  init(version: Int, decode: @escaping @Sendable (any Decoder) throws -> Stage) {
    self.version = version
    self.decode = decode
  }

  func migrate(_ bytes: [UInt8]) throws -> Stage {
    try JSONDecoder.ofStages.decode(Migrated<Stage>.self, from: Data(bytes), configuration: decode).stage
  }
}

/// A stage that is decoded by a migration.
private struct Migrated<Stage>: DecodableWithConfiguration {
  let stage: Stage

  init(from decoder: any Decoder, configuration decode: @Sendable (any Decoder) throws -> Stage) throws {
    stage = try decode(decoder)
  }
}

extension Serial: VersionedProgression where P: VersionedProgression, P.Result: Codable {
  /// The version of the contained progressions.
  public static var schemaVersion: Int { P.schemaVersion }

  /// The migrations of the contained progressions, applied to each stage; results keep their shape.
  public static var migrations: [CheckpointMigration<Serial>] {
    P.migrations.map { migration in
      CheckpointMigration(version: migration.version) { decoder in try Serial(from: decoder, migration.decode) }
    }
  }

  /// The name of the type, with the name of the contained progressions.
  public static var progressionName: String { "Stepwise.Serial<\(P.progressionName)>" }
}
