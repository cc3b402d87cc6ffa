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
        let more = retrying {
          readSome(UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...]))
        }
        if more < 0 { code = errno }
        if more <= 0 { break }
        filled += more
      }
    }
    guard code == 0 else { throw location.failure("read", code) }
    return bytes
  }

  /// Moves to an offset from the start of the file, at which the next read or write starts.
  package func seek(to offset: Int) throws(FileFailure) {
    guard lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else { throw location.failure("lseek") }
  }

  /// Writes all of the bytes.
  package func write(_ bytes: some Sequence<UInt8>) throws(FileFailure) {
    try write(bytes) { rest, _ in systemWrite(descriptor, rest.baseAddress, rest.count) }
  }

  /// Writes all of the bytes at an offset from the start of the file.
  package func write(_ bytes: some Sequence<UInt8>, at offset: Int) throws(FileFailure) {
    try write(bytes) { rest, done in pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + done)) }
  }

  private func write(
    _ bytes: some Sequence<UInt8>,
    _ writeSome: (UnsafeRawBufferPointer, _ done: Int) -> Int
  ) throws(FileFailure) {
    let isDone: Int32? = bytes.withContiguousStorageIfAvailable { writeAll(UnsafeRawBufferPointer($0), writeSome) }
    let code = isDone ?? Array(bytes).withUnsafeBytes { writeAll($0, writeSome) }
    guard code == 0 else { throw location.failure("write", code) }
  }

  /// Returns the `errno`, or 0.
  private func writeAll(_ bytes: UnsafeRawBufferPointer, _ writeSome: (UnsafeRawBufferPointer, Int) -> Int) -> Int32 {
    var done = 0
    while done < bytes.count {
      let written = retrying { writeSome(UnsafeRawBufferPointer(rebasing: bytes[done...]), done) }
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

  private func readSome(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    systemRead(descriptor, buffer.baseAddress, buffer.count)
  }
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}

private func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, buffer, count)
}
