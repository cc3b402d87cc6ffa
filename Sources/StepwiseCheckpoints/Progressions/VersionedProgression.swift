// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// A progression whose stored shape has changed, and that can still read stages that older versions stored.
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
/// A progression that does not conform has version 0, so the first migration converts from 0. A stage of an older version is migrated when it is read, and is
/// stored in the new shape with the next save. A version without a migration, or a stage that does not decode, throws
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
  /// Declare it when you rename the type, so that stages under the old name can still be read, and for a private or
  /// local type whose name another one has in a different file or function. When two such types run under checkpoints
  /// in one process, the second one throws ``CheckpointError/ambiguousType(id:location:name:)``.
  static var progressionName: String { get }
}

extension VersionedProgression {
  /// The name of the type, with the name of its module.
  public static var progressionName: String { StageCoder<Self>.typeName }
}
