// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Stepwise
import StepwiseFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// The directory `.locks` of a store, with a file for each held id, locked by its holder, and the fence.
///
/// The kernel unlocks a file when its process ends for any reason. A holder removes its file before it unlocks it,
/// because a lock on a file without a name excludes no other process.
struct LeaseFolder: Sendable {
  let directory: FileLocation
  let permissions: CheckpointPermissions

  /// Locks the file of an id; creates the directory if necessary.
  ///
  /// - Throws: ``CheckpointError/held(id:location:processID:)``, with the location of the checkpoint.
  func lock(_ id: CheckpointID, checkpoint: FileLocation) throws(CheckpointError) -> LockedFile {
    let path = path(of: id)
    while true {
      let file = try path.naming { () throws(FileFailure) in try open(path.file) }
      guard try path.naming({ () throws(FileFailure) in try file.lock() }) else {
        throw .held(id: id.text, location: checkpoint.path, processID: holder(at: path))
      }
      let locked = LockedFile(file: file)
      guard try path.naming({ () throws(FileFailure) in try file.status().st_nlink }) > 0 else { continue }
      // The process number is for the error that other processes receive; on a full disk it is omitted.
      try? file.write(Self.padded(UInt64(SystemMessage.processID)), at: 0)
      return locked
    }
  }

  private func open(_ file: FileLocation) throws(FileFailure) -> OpenFile {
    do {
      return try file.open(O_RDWR | O_CREAT, mode: permissions.files)
    } catch {
      switch error.code {
      case ENOENT:
        try directory.makeDirectory(mode: permissions.directories)
        return try file.open(O_RDWR | O_CREAT, mode: permissions.files)
      case EPERM:
        // A file that cannot be written can be locked.
        if let file = try file.openIfPresent(O_RDONLY) { return file }
        throw error
      default:
        throw error
      }
    }
  }

  /// Runs the body if no lock file can be created and no process holds the id or is about to.
  ///
  /// A process that acquires a lease locks the file of the id first, then the fence. If the file does not exist while
  /// the fence is locked, the id is free.
  ///
  /// - Returns: Nil, without running the body, while another process holds the fence.
  func withoutLockFile(
    _ id: CheckpointID,
    checkpoint: FileLocation,
    _ body: () throws(CheckpointError) -> Void
  ) throws(CheckpointError) -> Void? {
    let (path, fence) = (path(of: id), CheckpointPath(id: id, file: fence))
    let fenceFile = try fence.naming { () throws(FileFailure) in try fence.file.openIfPresent(O_RDONLY) }
    if let fenceFile, try !fence.naming({ () throws(FileFailure) in try fenceFile.lock() }) { return nil }
    defer { fenceFile?.unlock() }
    if let file = try path.naming({ () throws(FileFailure) in try path.file.openIfPresent(O_RDONLY) }) {
      guard try path.naming({ () throws(FileFailure) in try file.lock() }) else {
        throw .held(id: id.text, location: checkpoint.path, processID: holder(at: path))
      }
      defer { LockedFile(file: file).end() }
      try body()
    } else {
      try body()
    }
    return ()
  }

  /// Returns the next fencing number, which is higher than all earlier ones in this directory.
  ///
  /// When the file is empty or damaged, the earlier numbers are unknown. The time in nanoseconds then replaces them.
  /// Numbers increase from such a time by one for each lease, so they stay behind the clock, and a number that is more
  /// than a century ahead of it is damage. That limit rises faster than the numbers.
  ///
  /// - Returns: Nil while another process holds the fence.
  func nextFence(for id: CheckpointID) throws(CheckpointError) -> UInt64? {
    let path = CheckpointPath(id: id, file: fence)
    return try path.naming { () throws(FileFailure) in
      let file = try fence.open(O_RDWR | O_CREAT, mode: permissions.files)
      guard try file.lock() else { return nil }
      defer { file.unlock() }
      let now = Self.now
      let last = Self.number(in: try file.read(Self.digits)).flatMap { $0 > now + Self.century ? nil : $0 }
      let fence = (last ?? now) + 1
      try file.write(Self.padded(fence), at: 0)
      return fence
    }
  }

  /// Ends the lease of an id: the file that its holder has locked loses its name.
  func end(_ id: CheckpointID) throws(CheckpointError) {
    let path = path(of: id)
    _ = try path.naming { () throws(FileFailure) in try path.file.unlink() }
  }

  /// Returns the process whose number is in the locked file of an id, if it exists; nil when no process holds the id.
  ///
  /// Locks nothing, because a run that acquires the id at that time would be refused.
  func holder(of id: CheckpointID) -> CheckpointSummary.Holder? {
    guard let file = try? path(of: id).file.openIfPresent(O_RDONLY), let bytes = try? file.read(Self.digits) else {
      return nil
    }
    guard let process = Self.number(in: bytes).flatMap(Int32.init(exactly:)), process > 0 else {
      return CheckpointSummary.Holder(processID: nil)
    }
    return kill(process, 0) == 0 || errno == EPERM ? CheckpointSummary.Holder(processID: process) : nil
  }

  /// Returns the error for a fence that stayed locked for too long.
  func fenceIsBusy(_ id: CheckpointID) -> CheckpointError {
    CheckpointPath(id: id, file: fence).failure("flock", EWOULDBLOCK)
  }

  private var fence: FileLocation { directory.appending("fence") }

  private func path(of id: CheckpointID) -> CheckpointPath {
    CheckpointPath(id: id, file: directory.appending(CheckpointName(id).lock))
  }

  /// The process that has locked the file; it writes its number right after locking.
  private func holder(at path: CheckpointPath) -> Int32? {
    for _ in 0..<100 {
      guard let file = try? path.file.openIfPresent(O_RDONLY), let bytes = try? file.read(Self.digits) else {
        return nil
      }
      if let number = Self.number(in: bytes) { return Int32(exactly: number) }
      sched_yield()
    }
    return nil
  }

  private static var now: UInt64 {
    let now = WallClock.now
    // The year 2200, in which no sum overflows.
    return UInt64(min(max(0, now.seconds), 7_258_118_400)) * 1_000_000_000 + UInt64(max(0, now.nanoseconds))
  }

  private static let century: UInt64 = 100 * 365 * 86_400 * 1_000_000_000

  private static let digits = 20

  private static func padded(_ number: UInt64) -> [UInt8] {
    let text = Array(String(number).utf8)
    return [UInt8](repeating: UInt8(ascii: "0"), count: digits - text.count) + text
  }

  private static func number(in bytes: [UInt8]) -> UInt64? {
    bytes.count == digits ? UInt64(String(decoding: bytes, as: UTF8.self)) : nil
  }
}

/// A file that this process has locked.
struct LockedFile: Sendable {
  let file: OpenFile

  /// Whether the file still has its name, without which another process can lock a new one.
  var hasName: Bool { (try? file.status().st_nlink) != 0 }

  /// Removes the file and unlocks it.
  func end() {
    // Otherwise the name belongs to the file of another holder.
    if hasName { _ = try? file.location.unlink() }
    file.unlock()
  }
}

/// The lease of an id in a directory, represented by a locked file.
final class FileLease: Sendable {
  /// The known version of the checkpoint while it is locked.
  private enum Version {
    case unknown
    case known(UInt64?)
    /// With the file, open to append to it.
    case log(UInt64, CheckpointLog)

    var known: UInt64?? {
      switch self {
      case .unknown: nil
      case .known(let version): .some(version)
      case .log(let version, _): .some(version)
      }
    }
  }

  let fence: UInt64
  private let locked: LockedFile
  /// Serializes saves and the end of the lease.
  private let version = Lock(Version.unknown)

  init(_ locked: LockedFile, fence: UInt64) {
    self.locked = locked
    self.fence = fence
  }

  /// Runs a save, which receives the stored version and returns the new one.
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
      if let known = version.known { stored = known } else { stored = try load() }
      version = .unknown
      version = .known(try save(stored))
    }
  }

  /// Appends an entry.
  ///
  /// - Parameters:
  ///   - entry: The entry.
  ///   - check: Throws unless the stored version is the expected one; receives nil when it is not known.
  ///   - rewrite: Writes the whole file with the entry, the first time, and returns it with its version.
  /// - Throws: The errors of the closures, and those of writing.
  func appending(
    _ entry: [UInt8],
    check: (UInt64??) throws(CheckpointError) -> Void,
    rewrite: () throws(CheckpointError) -> (UInt64, CheckpointLog)
  ) throws(CheckpointError) {
    try version.withLock { version throws(CheckpointError) in
      try check(version.known)
      let last = exchange(&version, with: .unknown)
      guard case .log(let number, var log) = last else {
        let (number, log) = try rewrite()
        version = .log(number, log)
        return
      }
      try log.append(entry, version: number + 1)
      version = .log(number + 1, log)
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

/// The permissions of the files and directories that a `FileCheckpointStore` creates.
///
/// Change them if a program of another user has to read your checkpoints. The process mask (`umask`) is applied to
/// them. Existing files and directories keep their permissions; a checkpoint receives the new ones with the next save.
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
