// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

/// The permissions of the files and directories that a `FileCheckpointStore` creates.
///
/// What the process masks (`umask`) is taken away from them. What is present already keeps its permissions; a checkpoint gets
/// the new ones with the next save.
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

  /// Nobody but the owner reads or writes: stages hold users' data.
  public static let owner = CheckpointPermissions(files: 0o600, directories: 0o700)

  /// The owner's group reads and writes as well.
  public static let group = CheckpointPermissions(files: 0o660, directories: 0o770)
}
