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

  let migrate: @Sendable ([UInt8]) throws -> Stage

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
    self.version = version
    self.migrate = { bytes in try migrate(JSONDecoder.ofStages.decode(Old.self, from: Data(bytes))) }
  }
}
