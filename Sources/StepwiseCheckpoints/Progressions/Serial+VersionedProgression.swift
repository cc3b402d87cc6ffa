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

  private enum Case: String, CodingKey { case start, running, completed }
  private enum Label: String, CodingKey { case stages, remaining, active, completedSoFar, values = "_0" }

  /// Reads what the synthesised encoding stores, with stages of another shape in it.
  private init(from decoder: any Decoder, _ stage: (any Decoder) throws -> P) throws {
    let cases = try decoder.container(keyedBy: Case.self)
    func labels(_ name: Case) throws -> KeyedDecodingContainer<Label> {
      try cases.nestedContainer(keyedBy: Label.self, forKey: name)
    }
    func stages(_ list: any UnkeyedDecodingContainer) throws -> [P] {
      var (list, stages): (any UnkeyedDecodingContainer, [P]) = (list, [])
      while !list.isAtEnd { stages.append(try stage(list.superDecoder())) }
      return stages
    }
    switch cases.allKeys.first {
    case .start?:
      self = .start(stages: try stages(labels(.start).nestedUnkeyedContainer(forKey: .stages)))
    case .running?:
      let labels = try labels(.running)
      self = .running(
        remaining: try stages(labels.nestedUnkeyedContainer(forKey: .remaining)),
        active: try stage(labels.superDecoder(forKey: .active)),
        completedSoFar: try labels.decode([P.Result].self, forKey: .completedSoFar)
      )
    case .completed?:
      self = .completed(try labels(.completed).decode([P.Result].self, forKey: .values))
    case nil:
      throw UnknownShape(reason: "it is none of a Serial")
    }
  }
}
