// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

public import Stepwise

extension Serial: VersionedProgression where P: VersionedProgression, P.Result: Codable {
  /// The version of the progressions in it.
  public static var schemaVersion: Int { P.schemaVersion }

  /// Those of the progressions in it, for each stage; results that are there already keep their shape.
  public static var migrations: [CheckpointMigration<Serial>] {
    P.migrations.map { migration in
      CheckpointMigration(version: migration.version) { decoder in try Serial(from: decoder, migration.decode) }
    }
  }

  /// The name of the type, with that of the progressions in it.
  public static var progressionName: String { "Stepwise.Serial<\(P.progressionName)>" }
}
