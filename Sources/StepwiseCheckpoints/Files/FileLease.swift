// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

/// The lease of an id in a directory, represented by a locked file.
final class FileLease: Sendable {
  /// The known version of the checkpoint while it is locked.
  private enum Version {
    case unknown
    case known(UInt64?)
  }

  let fence: UInt64
  private let locked: LockedFile
  /// Serializes saves and the end of the lease.
  private let version = Lock(Version.unknown)

  init(_ locked: LockedFile, fence: UInt64) {
    self.locked = locked
    self.fence = fence
  }

  /// Runs a save, which receives the stored version and returns the one that it stored.
  ///
  /// - Parameters:
  ///   - load: Reads the stored version when it is not known.
  ///   - save: Saves; receives the stored version.
  /// - Throws: The errors of the closures.
  func saving(
    load: () throws(CheckpointError) -> UInt64?,
    save: (UInt64?) throws(CheckpointError) -> UInt64
  ) throws(CheckpointError) {
    try version.withLock { version throws(CheckpointError) in
      let stored: UInt64?
      if case .known(let known) = version { stored = known } else { stored = try load() }
      version = .unknown
      version = .known(try save(stored))
    }
  }

  /// Whether the lease is over because its locked file was removed.
  var isOver: Bool { !locked.hasName }

  /// Ends the lease.
  func end() {
    version.withLock { version in
      version = .unknown
      locked.end()
    }
  }
}
