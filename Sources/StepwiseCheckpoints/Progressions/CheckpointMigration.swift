// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Converts a stage that an older version stored into one of this version.
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
    let decoder = JSONDecoder.ofStages
    if let key = migrationKey { decoder.userInfo[key] = decode }
    return try decoder.decode(Migrated<Stage>.self, from: Data(bytes)).stage
  }
}

/// A stage that is decoded with the migration in its decoder's user info.
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
