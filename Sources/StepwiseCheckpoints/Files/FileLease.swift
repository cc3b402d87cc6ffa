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

/// The lease of an id in a directory, represented by a locked file.
final class FileLease: Sendable {
  private struct State: Sendable {
    var locked: OpenFile?
    /// The version of the checkpoint; not known at first, and after an error.
    var version: UInt64??
    /// The file and its end, once it is open to append to it.
    var log: (file: OpenFile, end: Int)?
  }

  let id: CheckpointID
  private let folder: CheckpointFolder
  /// Serializes saves and the end of the lease.
  private let state = Lock(State())

  init(_ id: CheckpointID, in folder: CheckpointFolder) {
    self.id = id
    self.folder = folder
  }

  /// Acquires the lease; returns nil, with the file of the id locked, while another process holds the fence.
  func begin() throws -> CheckpointLease? {
    try state.withLock { state throws in
      state.locked = if let locked = state.locked { locked } else { try folder.lock(id) }
      return try folder.nextFence().map { CheckpointLease(id: id.text, fence: $0) }
    }
  }

  /// Replaces the record if its version is the expected one.
  func save(_ record: CheckpointRecord, ifVersionIs expected: UInt64?) throws {
    try state.withLock { state throws in
      let last = exchange(&state, with: State(locked: state.locked))
      try check(state)
      let version = if let version = last.version { version } else { try folder.record(of: id)?.version }
      guard version == expected else { throw conflict(expected, version) }
      try folder.write(record, of: id)
      state.version = record.version
    }
  }

  /// Appends an entry if the version of the record is the expected one; writes the whole file the first time.
  func append(_ entry: [UInt8], ifVersionIs expected: UInt64) throws {
    try state.withLock { state throws in
      let last = exchange(&state, with: State(locked: state.locked))
      try check(state)
      if let (file, end) = last.log {
        guard last.version == expected else { throw conflict(expected, last.version ?? nil) }
        let bytes = CheckpointFile.bytes(ofEntry: entry, version: expected &+ 1)
        try file.write(bytes, at: end)
        try file.sync()
        state.log = (file, end + bytes.count)
      } else {
        let record = try folder.record(of: id)
        guard let record, record.version == expected else { throw conflict(expected, record?.version) }
        try folder.write(record.appending([entry]), of: id, format: CheckpointFile.newestFormat)
        let file = try folder.file(of: id).open(O_WRONLY)
        state.log = (file, Int(try file.status().st_size))
      }
      state.version = expected &+ 1
    }
  }

  /// Ends the lease.
  func end() {
    state.withLock { state in
      state.locked?.endLock()
      state = State()
    }
  }

  /// - Throws: An error when the lease is over, also because its locked file was removed.
  private func check(_ state: State) throws(CheckpointError) {
    guard state.locked?.hasName ?? false else { throw .lostLease(id: id.text, location: folder.file(of: id).path) }
  }

  private func conflict(_ expected: UInt64?, _ found: UInt64?) -> CheckpointError {
    .conflict(id: id.text, location: folder.file(of: id).path, expected: expected, found: found)
  }
}

extension OpenFile {
  /// Whether a locked file still has its name, without which another process can lock a new one.
  fileprivate var hasName: Bool { (try? status().st_nlink) != 0 }

  /// Removes a file that this process has locked, and unlocks it.
  func endLock() {
    // Otherwise the name belongs to the file of another holder.
    if hasName { _ = try? location.unlink() }
    unlock()
  }
}

/// The directory `.locks` of a store, with a file for each held id, locked by its holder, and the fence.
///
/// The kernel unlocks a file when its process ends for any reason. A holder removes its file before it unlocks it,
/// because a lock on a file without a name excludes no other process.
extension CheckpointFolder {
  private var locks: FileLocation { directory.appending(".locks") }

  private var fence: FileLocation { locks.appending("fence") }

  private func lockFile(of id: CheckpointID) -> FileLocation { locks.appending(CheckpointName(id).lock) }

  /// Locks the file of an id; creates the directory if necessary.
  ///
  /// - Throws: ``CheckpointError/held(id:location:processID:)``, with the location of the checkpoint.
  func lock(_ id: CheckpointID) throws -> OpenFile {
    while true {
      let file = try openToLock(lockFile(of: id))
      guard try file.lock() else { throw held(id) }
      guard try file.status().st_nlink > 0 else { continue }
      // The process number is for the error that other processes receive; on a full disk it is omitted.
      try? file.write(Self.padded(UInt64(SystemMessage.processID)), at: 0)
      return file
    }
  }

  private func openToLock(_ file: FileLocation) throws(FileFailure) -> OpenFile {
    do {
      return try file.open(O_RDWR | O_CREAT, mode: permissions.files)
    } catch {
      switch error.code {
      case ENOENT:
        try locks.makeDirectory(mode: permissions.directories)
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

  /// Returns the next fencing number, which is higher than all earlier ones in this directory.
  ///
  /// When the file is empty or damaged, the earlier numbers are unknown. The time in nanoseconds then replaces them.
  /// Numbers increase from such a time by one for each lease, so they stay behind the clock, and a number that is more
  /// than a century ahead of it is damage. That limit rises faster than the numbers.
  ///
  /// - Returns: Nil while another process holds the fence.
  func nextFence() throws(FileFailure) -> UInt64? {
    let file = try fence.open(O_RDWR | O_CREAT, mode: permissions.files)
    guard try file.lock() else { return nil }
    defer { file.unlock() }
    let now = Self.now
    let last = Self.number(in: try file.read(Self.digits)).flatMap { $0 > now + Self.century ? nil : $0 }
    let number = (last ?? now) + 1
    try file.write(Self.padded(number), at: 0)
    return number
  }

  /// The error for a fence that stayed locked for too long.
  var busyFence: FileFailure { fence.failure("flock", EWOULDBLOCK) }

  /// Removes the record of an id that is not held, even on a full disk, where no lock file can be created.
  ///
  /// - Returns: Nil while another process holds the fence; try again.
  func removeWhenFree(_ id: CheckpointID) throws -> Void? {
    let locked: OpenFile
    do {
      locked = try lock(id)
    } catch let failure as FileFailure where SystemMessage.cannotWrite(failure.code) {
      return try removeWithoutLockFile(id)
    }
    defer { locked.endLock() }
    return try remove(id)
  }

  /// Removes the record of an id if no process holds the id or is about to.
  ///
  /// A process that acquires a lease locks the file of the id first, then the fence. If the file does not exist while
  /// the fence is locked, the id is free.
  ///
  /// - Returns: Nil, without removing anything, while another process holds the fence.
  private func removeWithoutLockFile(_ id: CheckpointID) throws -> Void? {
    let fence = try fence.openIfPresent(O_RDONLY)
    if let fence, try !fence.lock() { return nil }
    defer { fence?.unlock() }
    let file = try lockFile(of: id).openIfPresent(O_RDONLY)
    if let file, try !file.lock() { throw held(id) }
    defer { file?.endLock() }
    return try remove(id)
  }

  /// Removes the record of an id and its locked file, which ends the lease of a run that holds the id.
  func removeWithLease(_ id: CheckpointID) throws {
    try lockFile(of: id).unlink()
    try remove(id)
  }

  // MARK: - Holders

  /// Returns the process whose number is in the locked file of an id, if it exists; nil when no process holds the id.
  ///
  /// Locks nothing, because a run that acquires the id at that time would be refused.
  func holder(of id: CheckpointID) -> CheckpointSummary.Holder? {
    guard let bytes = content(ofLock: id) else { return nil }
    guard let process = Self.number(in: bytes).flatMap(Int32.init(exactly:)), process > 0 else {
      return CheckpointSummary.Holder(processID: nil)
    }
    return kill(process, 0) == 0 || errno == EPERM ? CheckpointSummary.Holder(processID: process) : nil
  }

  /// The error for an id that another process holds, which writes its number right after locking.
  private func held(_ id: CheckpointID) -> CheckpointError {
    var process: Int32?
    for _ in 0..<100 {
      guard let bytes = content(ofLock: id) else { break }
      if let number = Self.number(in: bytes) {
        process = Int32(exactly: number)
        break
      }
      sched_yield()
    }
    return .held(id: id.text, location: file(of: id).path, processID: process)
  }

  private func content(ofLock id: CheckpointID) -> [UInt8]? {
    guard let file = try? lockFile(of: id).openIfPresent(O_RDONLY) else { return nil }
    return try? file.read(Self.digits)
  }

  // MARK: - Numbers

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
