// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

/// A progression whose stored shape has changed, and that can still read the stages that older versions stored.
///
/// ```swift
/// extension Import: VersionedProgression {
///   static let schemaVersion = 2
///   static let migrations: [CheckpointMigration<Import>] = [
///     CheckpointMigration(from: 1) { (old: ImportV1) in Import(old) }
///   ]
/// }
/// ```
///
/// A progression that does not conform has version 0. What was stored in an older version is brought up to date when it
/// is read, and is stored in its new shape with the next save. A version without a migration, and a stage that does not
/// decode, is ``CheckpointError/unknownShape(id:location:schemaVersion:reason:)``; what is stored stays as it is.
///
/// A `Serial` of such progressions has their version and name, and migrates each stage in it.
public protocol VersionedProgression: Progression, Codable {
  /// The version of the shape in which stages are stored now: 1 or higher.
  static var schemaVersion: Int { get }

  /// How stages of older versions become stages of this one.
  static var migrations: [CheckpointMigration<Self>] { get }

  /// The name that stands in checkpoints for this type: as a rule its own, with that of its module.
  ///
  /// Declare it when you rename the type, to go on reading what is stored under the old name; and for a private or local
  /// type whose name another one has, in another file or function. Of two such types that run under checkpoints in one
  /// process the second gets ``CheckpointError/ambiguousType(id:location:name:)``.
  static var progressionName: String { get }
}

extension VersionedProgression {
  /// The name of the type, with that of its module.
  public static var progressionName: String { StageCoder<Self>.typeName }
}
