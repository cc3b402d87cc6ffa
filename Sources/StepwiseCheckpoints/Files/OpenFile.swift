// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#endif

/// An open file, closed when it is let go of.
final class OpenFile: Sendable {
  let descriptor: Int32
  let place: FilePlace

  init(_ descriptor: Int32, at place: FilePlace) {
    self.descriptor = descriptor
    self.place = place
  }

  deinit { _ = close(descriptor) }

  /// Reads so many bytes, or those up to the end of the file.
  func read(_ count: Int) throws(CheckpointError) -> [UInt8] {
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
    guard code == 0 else { throw place.failure("read", code) }
    return bytes
  }

  /// Writes all of the bytes.
  func write(_ bytes: [UInt8]) throws(CheckpointError) {
    var code: Int32 = 0
    bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let written = retrying { writeSome(UnsafeRawBufferPointer(rebasing: rest)) }
        if written <= 0 {
          code = written < 0 ? errno : EIO
          return
        }
        rest = rest.dropFirst(written)
      }
    }
    guard code == 0 else { throw place.failure("write", code) }
  }

  /// Writes the bytes at the beginning of the file.
  func writeAtStart(_ bytes: [UInt8]) throws(CheckpointError) {
    let written = bytes.withUnsafeBytes { bytes in retrying { pwrite(descriptor, bytes.baseAddress, bytes.count, 0) } }
    guard written == bytes.count else { throw place.failure("write", written < 0 ? errno : ENOSPC) }
  }

  /// Makes sure that the content outlives a power failure.
  func sync() throws(CheckpointError) {
    #if canImport(Darwin)
      // The disk writes its own cache only when told so; not every file system can tell it.
      if fcntl(descriptor, F_FULLFSYNC) == 0 { return }
    #endif
    guard retrying({ fsync(descriptor) }) == 0 else { throw place.failure("fsync") }
  }

  /// What the file is.
  func status() throws(CheckpointError) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw place.failure("fstat") }
    return status
  }

  /// Locks the file for this descriptor alone; false when somebody else has the lock.
  func lock(wait: Bool) throws(CheckpointError) -> Bool {
    if retrying({ flock(descriptor, wait ? LOCK_EX : LOCK_EX | LOCK_NB) }) == 0 { return true }
    guard errno == EWOULDBLOCK else { throw place.failure("flock") }
    return false
  }

  /// Unlocks the file, also for a process that was just being started and shares the descriptor.
  func unlock() { _ = flock(descriptor, LOCK_UN) }

  private func readSome(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
    systemRead(descriptor, buffer.baseAddress, buffer.count)
  }

  private func writeSome(_ buffer: UnsafeRawBufferPointer) -> Int {
    systemWrite(descriptor, buffer.baseAddress, buffer.count)
  }
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
  read(descriptor, buffer, count)
}

private func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
  write(descriptor, buffer, count)
}
