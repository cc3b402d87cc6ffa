// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The lease of an id in a directory: a locked file, which the kernel unlocks when the process ends, however it ends.
final class FileLease: Sendable {
  /// What is known of the checkpoint while it is locked.
  private enum Version {
    case unknown
    case known(UInt64?)
  }

  let fence: UInt64
  private let file: OpenFile
  /// Saves and the end of the lease take turns.
  private let version = Lock(Version.unknown)

  private init(_ file: OpenFile, fence: UInt64) {
    self.file = file
    self.fence = fence
  }

  /// Locks the file of an id, in a directory that is made if need be.
  static func acquire(_ place: FilePlace, in directory: FilePlace, checkpoint: FilePlace) throws(CheckpointError)
    -> FileLease
  {
    while true {
      let file: OpenFile
      if let there = try place.openIfThere(O_RDWR | O_CREAT) {
        file = there
      } else {
        try directory.makeDirectory()
        file = try place.open(O_RDWR | O_CREAT)
      }
      guard try file.lock(wait: false) else {
        throw .held(id: place.id, location: checkpoint.path, processID: try holder(of: place))
      }
      // A holder removes the file before it unlocks it: a lock on what was removed keeps nobody out.
      guard try file.status().st_nlink > 0 else { continue }
      try file.writeAtStart(padded(UInt64(SystemMessage.processID)))
      return FileLease(file, fence: try nextFence(for: place.id, in: directory))
    }
  }

  /// Runs a save, which is told the version that is stored, and returns the one that it stored.
  ///
  /// - Parameters:
  ///   - load: Reads the version that is stored, when it is not known.
  ///   - save: Saves, given the version that is stored.
  /// - Throws: What they throw.
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

  /// Ends the lease.
  func end() {
    version.withLock { version in
      version = .unknown
      try? file.place.unlink()
      file.unlock()
    }
  }

  /// The process that has locked the file.
  ///
  /// It writes its number right after it has locked the file.
  private static func holder(of place: FilePlace) throws(CheckpointError) -> Int32? {
    for _ in 0..<100 {
      guard let file = try place.openIfThere(O_RDONLY) else { return nil }
      if let number = number(in: try file.read(digits)) { return Int32(truncatingIfNeeded: number) }
      sched_yield()
    }
    return nil
  }

  /// Counts up the number that all leases of the directory share, so that it is higher than all before.
  private static func nextFence(for id: String, in directory: FilePlace) throws(CheckpointError) -> UInt64 {
    let file = try FilePlace(id: id, path: directory.path + "/fence").open(O_RDWR | O_CREAT)
    guard try file.lock(wait: true) else { throw file.place.failure("flock") }
    defer { file.unlock() }
    let fence = (number(in: try file.read(digits)) ?? 0) + 1
    try file.writeAtStart(padded(fence))
    return fence
  }

  private static let digits = 20

  private static func padded(_ number: UInt64) -> [UInt8] {
    let text = Array(String(number).utf8)
    return [UInt8](repeating: UInt8(ascii: "0"), count: digits - text.count) + text
  }

  private static func number(in bytes: [UInt8]) -> UInt64? {
    bytes.count == digits ? UInt64(String(decoding: bytes, as: UTF8.self)) : nil
  }
}
