// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A regular file that is open, and closed when it is let go.
struct OpenFile: ~Copyable {
  private let path: String
  private let descriptor: Int32

  /// Opens a file for reading.
  ///
  /// - Throws: `FileError`, also for a directory, a device or a pipe: their bytes may never end.
  static func reading(_ path: String) throws(FileError) -> OpenFile {
    // Without O_NONBLOCK a pipe would wait here for somebody who writes.
    let file = try OpenFile(path, O_RDONLY | O_NONBLOCK, to: "read")
    let kind = try file.status().st_mode & S_IFMT
    guard kind != S_IFDIR else { throw FileError("read", path, code: EISDIR) }
    guard kind == S_IFREG else { throw FileError("read", path, because: "it is not a regular file") }
    return file
  }

  /// Creates a file for writing, where none is yet.
  static func creating(_ path: String) throws(FileError) -> OpenFile {
    try OpenFile(path, O_WRONLY | O_CREAT | O_EXCL, to: "create")
  }

  /// Opens a file that was created, for writing.
  static func writing(_ path: String) throws(FileError) -> OpenFile {
    try OpenFile(path, O_WRONLY, to: "write")
  }

  private init(_ path: String, _ flags: Int32, to what: String) throws(FileError) {
    let descriptor = open(path, flags | O_CLOEXEC, 0o666)
    guard descriptor >= 0 else { throw FileError(what, path) }
    self.path = path
    self.descriptor = descriptor
  }

  deinit {
    close(descriptor)
  }

  /// The length that the system tells.
  func byteCount() throws(FileError) -> Int {
    Int(try status().st_size)
  }

  /// What the system knows of the file.
  func status() throws(FileError) -> stat {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileError("read", path) }
    return status
  }

  /// Goes to a place, counted in bytes from the beginning.
  func seek(to offset: Int) throws(FileError) {
    guard lseek(descriptor, off_t(offset), SEEK_SET) >= 0 else { throw FileError("read", path) }
  }

  /// Reads the next bytes; nil at the end.
  func read(upTo limit: Int) throws(FileError) -> [UInt8]? {
    var result = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
      repeat {
        result = systemRead(descriptor, buffer)
      } while result < 0 && errno == EINTR
      count = max(0, result)
    }
    guard result >= 0 else { throw FileError("read", path) }
    return bytes.isEmpty ? nil : bytes
  }

  /// Writes all bytes.
  func write(_ bytes: ArraySlice<UInt8>) throws(FileError) {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { buffer in systemWrite(descriptor, buffer) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw FileError("write", path)
      }
    }
  }

  /// Waits until what was written is on the disk.
  func synchronize() throws(FileError) {
    guard fsync(descriptor) == 0 else { throw FileError("write", path) }
  }
}

// Inside the struct the system's names mean its own methods.
private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableBufferPointer<UInt8>) -> Int {
  read(descriptor, buffer.baseAddress, buffer.count)
}

private func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
  write(descriptor, buffer.baseAddress, buffer.count)
}
