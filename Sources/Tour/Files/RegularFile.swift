// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import StepwiseFiles

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// An open regular file, closed when it is released; its errors name the operation for the user.
struct RegularFile: Sendable {
  private let file: OpenFile
  /// The operation for the user.
  private let purpose: String

  /// Opens a file for reading.
  ///
  /// - Throws: `FileError`, also for a directory, a device or a pipe, whose bytes may never end.
  static func reading(_ path: String) throws(FileError) -> RegularFile {
    let file = try RegularFile(path, O_RDONLY, to: "read")
    let kind = try file.status().st_mode & S_IFMT
    guard kind != S_IFDIR else { throw FileError("read", path, code: EISDIR) }
    guard kind == S_IFREG else { throw FileError("read", path, because: "it is not a regular file") }
    return file
  }

  /// Creates a file for writing; it must not exist.
  static func creating(_ path: String) throws(FileError) -> RegularFile {
    try RegularFile(path, O_WRONLY | O_CREAT | O_EXCL, to: "create")
  }

  /// Opens an existing file for writing.
  static func writing(_ path: String) throws(FileError) -> RegularFile {
    try RegularFile(path, O_WRONLY, to: "write")
  }

  private init(_ path: String, _ flags: Int32, to purpose: String) throws(FileError) {
    self.purpose = purpose
    file = try FileError.naming(purpose, path) { () throws(FileFailure) in
      try FileLocation(path).open(flags, followsLinks: true)
    }
  }

  /// The length that the system reports.
  func byteCount() throws(FileError) -> Int { Int(try status().st_size) }

  /// The system's status of the file.
  func status() throws(FileError) -> stat { try named { () throws(FileFailure) in try file.status() } }

  /// Moves to an offset in bytes from the start.
  func seek(to offset: Int) throws(FileError) { try named { () throws(FileFailure) in try file.seek(to: offset) } }

  /// Reads the next bytes; nil at the end.
  func read(upTo limit: Int) throws(FileError) -> [UInt8]? {
    let bytes = try named { () throws(FileFailure) in try file.read(limit) }
    return bytes.isEmpty ? nil : bytes
  }

  /// Writes all bytes.
  func write(_ bytes: ArraySlice<UInt8>) throws(FileError) {
    try named { () throws(FileFailure) in try file.write(bytes) }
  }

  /// Waits until the written bytes are on the disk.
  func synchronize() throws(FileError) { try named { () throws(FileFailure) in try file.sync() } }

  private func named<Value>(_ body: () throws(FileFailure) -> Value) throws(FileError) -> Value {
    try FileError.naming(purpose == "create" ? "write" : purpose, file.location.path, body)
  }
}
