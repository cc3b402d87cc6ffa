// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

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
