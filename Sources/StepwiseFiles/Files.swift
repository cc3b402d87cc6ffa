// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(Darwin)
  package import Darwin
#elseif canImport(Glibc)
  package import Glibc
#elseif canImport(Musl)
  package import Musl
#elseif canImport(Android)
  package import Android
#endif

/// An error of a system call on a file.
package struct FileFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name of the call.
  package let operation: String
  package let path: String
  /// Its `errno`.
  package let code: Int32

  package init(_ operation: String, _ path: String, _ code: Int32 = errno) {
    self.operation = operation
    self.path = path
    self.code = code
  }

  package var description: String {
    "\(operation) failed at \(path): \(SystemMessage.text(for: code)) (errno \(code))"
  }
}

/// Messages and numbers of the operating system.
package enum SystemMessage {
  /// The message of an error number.
  package static func text(for code: Int32) -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    guard strerror_r(code, &buffer, buffer.count) == 0 else { return "unknown error" }
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }

  /// Returns whether the error means that nothing can be written: the disk is full or read-only, or writing is not
  /// permitted.
  package static func cannotWrite(_ code: Int32) -> Bool {
    [EROFS, EACCES, EPERM, ENOSPC, EDQUOT].contains(code)
  }

  /// The error number for an invalid argument.
  package static var invalidArgument: Int32 { EINVAL }

  /// The number of this process.
  package static var processID: Int32 { getpid() }
}

/// A path, with operations on the file there.
///
/// The checkpoint store and the tour access files only through this type and ``OpenFile``.
package struct FileLocation: Sendable, Hashable {
  package let path: String

  package init(_ path: String) {
    self.path = path
  }

  /// Returns the location of a file in this directory.
  package func appending(_ name: String) -> FileLocation { FileLocation(path + "/" + name) }

  package func failure(_ operation: String, _ code: Int32 = errno) -> FileFailure { FileFailure(operation, path, code) }

  /// Opens the file; child processes do not inherit it.
  ///
  /// - Parameters:
  ///   - flags: The flags of `open`.
  ///   - followsLinks: Whether to follow a symbolic link to a file; a link to a directory is always followed.
  ///   - mode: The permissions of a created file, before the process mask is applied.
  /// - Returns: The open file.
  /// - Throws: The error of the call.
  package func open(
    _ flags: Int32,
    followsLinks: Bool = false,
    mode: UInt16 = 0o666
  ) throws(FileFailure) -> OpenFile {
    // O_NONBLOCK: opening a pipe does not wait for its other end.
    let ofFiles = followsLinks ? O_NONBLOCK : O_NOFOLLOW | O_NONBLOCK
    let careful = flags & O_DIRECTORY == 0 ? flags | ofFiles : flags
    let descriptor = retrying { systemOpen(path, careful | O_CLOEXEC, mode) }
    guard descriptor >= 0 else { throw failure("open") }
    return OpenFile(descriptor, at: self)
  }

  /// Opens the file; nil when there is none.
  package func openIfPresent(_ flags: Int32) throws(FileFailure) -> OpenFile? {
    do {
      return try open(flags)
    } catch  where error.code == ENOENT {
      return nil
    } catch {
      throw error
    }
  }

  /// Renames the file, and replaces an existing one with the new name.
  package func rename(to other: FileLocation) throws(FileFailure) {
    guard retrying({ systemRename(path, other.path) }) == 0 else { throw other.failure("rename") }
  }

  /// Removes the file, if there is one.
  package func unlink() throws(FileFailure) {
    guard retrying({ systemUnlink(path) }) == 0 || errno == ENOENT else { throw failure("unlink") }
  }

  /// Returns the status without following a link; nil when nothing exists there.
  package func status() throws(FileFailure) -> stat? {
    var status = stat()
    if retrying({ lstat(path, &status) }) == 0 { return status }
    guard errno == ENOENT else { throw failure("lstat") }
    return nil
  }

  /// Returns the facts about the file, or about a link itself; nil when nothing exists there.
  package func facts() throws(FileFailure) -> FileFacts? { try status().map { FileFacts($0) } }

  /// A Boolean value that indicates whether the location is a directory.
  package var isDirectory: Bool {
    guard let file = try? open(O_RDONLY | O_DIRECTORY), let status = try? file.status() else { return false }
    return status.st_mode & S_IFMT == S_IFDIR
  }

  /// Creates the directory with its parents; each new name survives a power failure.
  ///
  /// An existing directory is not changed.
  package func makeDirectories(mode: UInt16) throws(FileFailure) {
    do {
      try makeDirectory(mode: mode)
    } catch  where error.code == ENOENT {
      guard let parent, parent.path != "/" else { throw error }
      try parent.makeDirectories(mode: mode)
      try makeDirectory(mode: mode)
    } catch {
      // An existing directory may be reported as read-only before it is reported as existing.
      guard isDirectory else { throw error }
    }
    _ = try open(O_RDONLY | O_DIRECTORY)
  }

  /// Creates the directory in an existing one; its name survives a power failure.
  ///
  /// An existing directory is not changed.
  package func makeDirectory(mode: UInt16) throws(FileFailure) {
    if retrying({ mkdir(path, mode_t(mode)) }) != 0 {
      guard errno == EEXIST else { throw failure("mkdir") }
      return
    }
    try (parent ?? FileLocation(".")).syncDirectory()
  }

  /// The parent directory; nil for a relative path of one component.
  private var parent: FileLocation? {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return nil }
    return FileLocation(slash == path.startIndex ? "/" : String(path[..<slash]))
  }

  /// Makes the names in the directory survive a power failure.
  package func syncDirectory() throws(FileFailure) {
    try open(O_RDONLY | O_DIRECTORY).sync()
  }

  /// The names of the files in the directory.
  package func names() throws(FileFailure) -> [String] {
    guard let directory = opendir(path) else { throw failure("opendir") }
    defer { closedir(directory) }
    var names: [String] = []
    errno = 0
    while let entry = readdir(directory) {
      names.append(
        withUnsafeBytes(of: &entry.pointee.d_name) { bytes in String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
      )
      errno = 0
    }
    guard errno == 0 else { throw failure("readdir") }
    return names
  }
}

/// What the file system knows about a file.
package struct FileFacts: Sendable, Hashable {
  /// Whether it is neither a directory nor a device, a pipe or a link.
  package let isRegular: Bool
  /// The size in bytes.
  package let size: Int
  /// The time of the last change of the content, in seconds since 1970.
  package let lastChange: Double

  package init(_ status: stat) {
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    isRegular = status.st_mode & S_IFMT == S_IFREG
    size = Int(status.st_size)
    lastChange = Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

/// The system's clock, which is set and adjusted.
///
/// A module that imports Foundation as well does not reliably see the members of `timespec`.
package enum WallClock {
  /// The time since 1970, in whole seconds and nanoseconds.
  package static var now: (seconds: Int, nanoseconds: Int) {
    let now = time(after: 0)
    return (now.tv_sec, now.tv_nsec)
  }

  /// The time after a number of nanoseconds, for calls of the system.
  package static func time(after nanoseconds: Int) -> timespec {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    let sum = time.tv_nsec + nanoseconds
    time.tv_sec += sum / 1_000_000_000
    time.tv_nsec = sum % 1_000_000_000
    return time
  }
}

/// An open file, closed when it is released.
package final class OpenFile: Sendable {
  package let descriptor: Int32
  package let location: FileLocation

  init(_ descriptor: Int32, at location: FileLocation) {
    self.descriptor = descriptor
    self.location = location
  }

  deinit { _ = close(descriptor) }

  /// Reads a number of bytes, or all up to the end of the file.
  package func read(_ count: Int) throws(FileFailure) -> [UInt8] {
    var code: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let more = retrying { systemRead(descriptor, buffer.baseAddress.map { $0 + filled }, count - filled) }
        if more < 0 { code = errno }
        if more <= 0 { break }
        filled += more
      }
    }
    guard code == 0 else { throw location.failure("read", code) }
    return bytes
  }

  /// Moves to an offset from the start of the file, at which the next read starts.
  package func seek(to offset: Int) throws(FileFailure) {
    guard lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else { throw location.failure("lseek") }
  }

  /// Writes all of the bytes at an offset from the start of the file.
  package func write(_ bytes: some Sequence<UInt8>, at offset: Int) throws(FileFailure) {
    let isDone: Int32? = bytes.withContiguousStorageIfAvailable { writeAll(UnsafeRawBufferPointer($0), at: offset) }
    let code = isDone ?? Array(bytes).withUnsafeBytes { writeAll($0, at: offset) }
    guard code == 0 else { throw location.failure("write", code) }
  }

  /// Returns the `errno`, or 0.
  private func writeAll(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int32 {
    var done = 0
    while done < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
      let written = retrying { pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done)) }
      if written <= 0 { return written < 0 ? errno : EIO }
      done += written
    }
    return 0
  }

  /// Truncates the file to a size.
  package func truncate(to size: Int) throws(FileFailure) {
    guard retrying({ ftruncate(descriptor, off_t(size)) }) == 0 else { throw location.failure("ftruncate") }
  }

  /// Makes the content survive a power failure.
  package func sync() throws(FileFailure) {
    #if canImport(Darwin)
      // The disk writes its cache only on request; not every file system supports the request.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    guard retrying({ fsync(descriptor) }) == 0 else { throw location.failure("fsync") }
  }

  /// Returns the kind, the size and the link count of the file.
  package func status() throws(FileFailure) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw location.failure("fstat") }
    return status
  }

  /// Locks the file for this descriptor, without waiting; returns false when another descriptor holds the lock.
  package func lock() throws(FileFailure) -> Bool {
    if retrying({ flock(descriptor, LOCK_EX | LOCK_NB) }) == 0 { return true }
    guard errno == EWOULDBLOCK else { throw location.failure("flock") }
    return false
  }

  /// Unlocks the file, also for a child process that is just starting and shares the descriptor.
  package func unlock() { _ = flock(descriptor, LOCK_UN) }
}

/// Repeats a call that a signal interrupted.
func retrying<Number: SignedInteger>(_ operation: () -> Number) -> Number {
  while true {
    let result = operation()
    if result >= 0 || errno != EINTR { return result }
  }
}

private func systemOpen(_ path: String, _ flags: Int32, _ mode: UInt16) -> Int32 { open(path, flags, mode_t(mode)) }
private func systemRename(_ old: String, _ new: String) -> Int32 { rename(old, new) }
private func systemUnlink(_ path: String) -> Int32 { unlink(path) }

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}
