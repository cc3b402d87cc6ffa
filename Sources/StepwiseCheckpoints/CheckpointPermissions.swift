// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The permissions of the files and directories that a `FileCheckpointStore` creates.
///
/// The process mask (`umask`) is applied to them. Existing files and directories keep their permissions; a checkpoint
/// receives the new ones with the next save.
public struct CheckpointPermissions: Sendable, Hashable {
  /// The mode of files, such as `0o600`.
  public var files: UInt16

  /// The mode of directories, such as `0o700`.
  public var directories: UInt16

  /// Creates permissions from modes.
  ///
  /// - Parameters:
  ///   - files: The mode of files.
  ///   - directories: The mode of directories.
  public init(files: UInt16, directories: UInt16) {
    self.files = files
    self.directories = directories
  }

  /// Only the owner may read and write, because stages hold users' data.
  public static let owner = CheckpointPermissions(files: 0o600, directories: 0o700)

  /// The owner's group may read and write as well.
  public static let group = CheckpointPermissions(files: 0o660, directories: 0o770)
}
