// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// How a stage that an older version stored becomes one of this version.
public struct CheckpointMigration<Stage>: Sendable {
  /// The older version; 0 is that of a progression that declared none.
  public let version: Int

  /// Decodes the older shape and makes a stage of it.
  let decode: @Sendable (any Decoder) throws -> Stage

  /// Makes a migration.
  ///
  /// - Parameters:
  ///   - version: The older version; 0 is that of a progression that declared none.
  ///   - migrate: Makes a stage of this version out of one in the older shape, whose type you keep for that; it need not
  ///     be a progression.
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
    let decoder = JSONDecoder.ofStages
    if let key = migrationKey { decoder.userInfo[key] = decode }
    return try decoder.decode(Migrated<Stage>.self, from: Data(bytes)).stage
  }
}

/// A stage that is decoded by the migration that its decoder was told.
private struct Migrated<Stage>: Decodable {
  let stage: Stage

  init(from decoder: any Decoder) throws {
    typealias Decode = @Sendable (any Decoder) throws -> Stage
    guard let key = migrationKey, let decode = decoder.userInfo[key] as? Decode else {
      throw UnknownShape(reason: "it is decoded without its migration")
    }
    stage = try decode(decoder)
  }
}

private let migrationKey = CodingUserInfoKey(rawValue: "stepwise.migration")
