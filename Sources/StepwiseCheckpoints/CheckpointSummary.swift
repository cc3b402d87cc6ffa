// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(FoundationEssentials)
  public import FoundationEssentials
#else
  public import Foundation
#endif

/// What a file of a ``FileCheckpointStore`` says about a checkpoint, without its stages.
public struct CheckpointSummary: Sendable {
  /// What an intact checkpoint contains.
  public struct Content: Sendable, Hashable {
    /// The name of the progression's type.
    public let progression: String

    /// The version of the stored shape of the stages; 0 for a progression that declares none.
    public let schemaVersion: Int

    /// The number of stages saved under the id.
    public let version: UInt64

    /// The name of the last stage as it is stored: the case of an enum; nil for another type.
    public let stage: String?
  }

  /// The holder of a lease.
  public struct Holder: Sendable, Hashable {
    /// The number of the process; nil when it is unknown, for example because the disk was full.
    public let processID: Int32?
  }

  /// The id; nil when the file is damaged and its name does not contain the id.
  public let id: String?

  /// The path of the file.
  public let location: String

  /// The time of the last save.
  public let lastSave: Date

  /// The size of the file in bytes.
  public let byteCount: Int

  /// The holder of the lease; nil when no run holds the id.
  public let holder: Holder?

  /// The content of the file; nil when it cannot be read, for the reason in ``error``.
  public let content: Content?

  /// Why the file cannot be read: it is damaged, has a newer format, or reading is not permitted; nil when it can.
  public let error: CheckpointError?
}
