// SPDX-License-Identifier: MIT
// Copyright (c) 2026 Stepwise contributors

import Foundation

/// A file that is sent as a body.
enum UploadFile {
  /// Opens a file; returns a descriptor, which the caller closes, and the number of bytes.
  ///
  /// - Throws: ``HTTPError/request(underlying:)`` with the system's error, also for a directory.
  static func open(_ file: URL) throws(HTTPError) -> (descriptor: Int32, length: Int64) {
    let descriptor = systemOpen(file.path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(errno) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else {
      let code = errno
      close(descriptor)
      throw failure(code)
    }
    guard status.st_mode & S_IFMT != S_IFDIR else {
      close(descriptor)
      throw failure(EISDIR)
    }
    return (descriptor, Int64(status.st_size))
  }

  /// Throws if a file cannot be read.
  static func check(_ file: URL) throws(HTTPError) { close(try open(file).descriptor) }

  private static func failure(_ code: Int32) -> HTTPError {
    .request(underlying: POSIXError(POSIXError.Code(rawValue: code) ?? .EIO))
  }
}

// The method above has the name of the system's function.
private func systemOpen(_ path: String, _ flags: Int32) -> Int32 { open(path, flags) }
